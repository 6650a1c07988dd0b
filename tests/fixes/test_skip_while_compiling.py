"""Leaving out what prints, logs or shows progress while torch.compile captures a program."""

import ast

import pytest

from fx_lsp.fixes.skip_while_compiling import fixes
from tests.fixes.fixing import edited_body

HEAD = "import sys\nimport torch\nfrom tqdm import tqdm, trange\n\ndef f(x):\n"


def fixed(body: str) -> str | None:
    """The new body; None if nothing is offered for the first call in it that prints or logs."""
    return edited_body(fixes, "graph-break", HEAD, body, lambda call: ast.unparse(call.func) != "enumerate")


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ("print(x)", "if not torch.compiler.is_compiling():\n    print(x)\n"),
        ("print(\n  x)", "if not torch.compiler.is_compiling(): print(\n  x)\n"),
        ("self._logger.info(x)", "if not torch.compiler.is_compiling():\n    self._logger.info(x)\n"),
        (
            "logging.getLogger('net').warning(x)",
            "if not torch.compiler.is_compiling():\n    logging.getLogger('net').warning(x)\n",
        ),
        (
            "writer.add_scalar('sum', x.sum().item())",
            "if not torch.compiler.is_compiling():\n    writer.add_scalar('sum', x.sum().item())\n",
        ),
        ("sys.stdout.write('x')", "if not torch.compiler.is_compiling():\n    sys.stdout.write('x')\n"),
        ("torch.save(x, 'x.pt')", None),
        ("y = print(x)", None),
        ("self.log('loss', x)", None),
    ],
)
def test_only_a_statement_that_prints_or_logs_is_left_out(body: str, new: str | None) -> None:
    assert fixed(body) == new


@pytest.mark.parametrize(
    "body", ["print(x); y = 1", "y = 1; print(x)", "print(\n  x); y = 1", "if x is None: print(x)"]
)
def test_no_other_statement_is_left_out(body: str) -> None:
    assert fixed(body) is None


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (
            "if x.any():\n    print(1)\n    log.info(2)",
            "if not torch.compiler.is_compiling() and x.any():\n    print(1)\n    log.info(2)\n",
        ),
        (
            "if x.any() or x.all():\n    print(1)",
            "if not torch.compiler.is_compiling() and (x.any() or x.all()):\n    print(1)\n",
        ),
        (
            "if x.any():\n    text = f'{x}'\n    print(text)\n    self.told = True",
            "if not torch.compiler.is_compiling() and x.any():\n    text = f'{x}'\n    print(text)\n"
            "    self.told = True\n",
        ),
        ("text = ''\nif x.any():\n    text = f'{x}'\n    print(text)", None),
        ("if x.any():\n    print(1)\n    self.told = True\ny = self.told", None),
        ("if x.any():\n    print(1)\n    x = -x", None),
        ("if x.any():\n    print(1)\nelse:\n    print(2)", None),
        ("if x.any():\n    pass", None),
    ],
)
def test_a_branch_that_only_prints_or_logs_is_not_decided(body: str, new: str | None) -> None:
    assert fixed(body) == new


def test_both_calls_of_a_clock_are_left_out() -> None:
    body = "began = time.perf_counter()\nx = x + 1\nself.took = time.perf_counter() - began"
    new = (
        "began = 0.0 if torch.compiler.is_compiling() else time.perf_counter()\nx = x + 1\n"
        "self.took = (0.0 if torch.compiler.is_compiling() else time.perf_counter()) - began\n"
    )
    head = HEAD.replace("import torch\n", "import time\nimport torch\n")
    assert edited_body(fixes, "graph-break", head, body, lambda call: "time" in ast.unparse(call)) == new


def test_a_branch_that_prints_is_left_out_for_the_text_that_it_makes_up() -> None:
    body = "if self.verbose:\n    text = format(x.sum().item(), '.2f')\n    print(text)"
    new = f"if not torch.compiler.is_compiling() and {body.removeprefix('if ')}\n"
    assert fixed(body) == new


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (
            "for i in tqdm(range(3), desc='steps'):\n    x = x + i",
            "for i in range(3) if torch.compiler.is_compiling() else tqdm(range(3), desc='steps'):\n    x = x + i\n",
        ),
        (
            "for i in trange(1, 3, disable=True):\n    x = x + i",
            "for i in range(1, 3) if torch.compiler.is_compiling() else trange(1, 3, disable=True):\n    x = x + i\n",
        ),
        (
            "y = [i for i in tqdm(x)]",
            "y = [i for i in (x if torch.compiler.is_compiling() else tqdm(x))]\n",
        ),
        (
            "for i, y in enumerate(tqdm(a if b else c)):\n    x = x + i",
            "for i, y in enumerate((a if b else c) if torch.compiler.is_compiling() else tqdm(a if b else c)):\n"
            "    x = x + i\n",
        ),
        (
            "for i in tqdm(\n    [1] +\n    [2],\n):\n    x = x + i",
            "for i in ([1] +\n    [2]) if torch.compiler.is_compiling() else "
            "tqdm(\n    [1] +\n    [2],\n):\n    x = x + i\n",
        ),
        (
            "for i in tqdm(\n    x\n    .values()\n):\n    x = x + i",
            "for i in (x\n    .values()) if torch.compiler.is_compiling() else "
            "tqdm(\n    x\n    .values()\n):\n    x = x + i\n",
        ),
        ("bar = tqdm(total=3)", None),
        ("bar = tqdm(x)", None),
        ("with tqdm(x) as bar:\n    x = x + 1", None),
        ("for i in tqdm(*x):\n    pass", None),
        ("for i in track(x):\n    pass", None),
    ],
)
def test_a_loop_does_not_show_its_progress(body: str, new: str | None) -> None:
    assert fixed(body) == new


@pytest.mark.parametrize(
    "body",
    [
        "end = time.time() + 1\nwhile time.time() < end:\n    x = x + 1",
        "began = time.time()\ntook = time.time() - began\nif took > 1:\n    x = x + 1",
    ],
)
def test_a_clock_that_decides_is_not_left_out(body: str) -> None:
    head = HEAD.replace("import torch\n", "import time\nimport torch\n")
    assert edited_body(fixes, "graph-break", head, body, lambda call: "time" in ast.unparse(call)) is None
