"""Guards and asserts as checks that are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.torch_assert import fixes
from tests.fixes.fixing import check, function, refuse

CASES = {
    "a guard": (
        "if x.shape[1] != 3:\n    raise ValueError('three, please')\nreturn x",
        "torch._assert(x.shape[1] == 3, 'three, please')\nreturn x",
    ),
    "two sizes": (
        "_, h, w = x.shape\nif h != 3 or w > 4:\n    raise ValueError\nreturn x",
        '_, h, w = x.shape\ntorch._assert(h == 3, "h == 3")\ntorch._assert(w <= 4, "w <= 4")\nreturn x',
    ),
    "a flag that is known": (
        "strict = True\nif strict and x.shape[1] % 3 != 0:\n    raise ValueError('no')\nreturn x",
        "strict = True\nif strict:\n    torch._assert(x.shape[1] % 3 == 0, 'no')\nreturn x",
    ),
    "no comparison": (
        "if x.shape[1] % 3:\n    raise ValueError\nreturn x",
        'torch._assert(torch.sym_not(x.shape[1] % 3), "torch.sym_not(x.shape[1] % 3)")\nreturn x',
    ),
    "not": (
        "if not x.shape[1] == 3:\n    raise RuntimeError()\nreturn x",
        'torch._assert(x.shape[1] == 3, "x.shape[1] == 3")\nreturn x',
    ),
    "an assert": (
        "assert x.dim() == 3 and x.shape[0] < 3, f'is {x.shape}: {x.dim()}'\nreturn x",
        'torch._assert(x.dim() == 3, "is x.shape: x.dim()")\n'
        'torch._assert(x.shape[0] < 3, "is x.shape: x.dim()")\nreturn x',
    ),
    "a chain": (
        "assert 2 < x.shape[1] <= 4\nreturn x",
        'torch._assert(2 < x.shape[1], "2 < x.shape[1]")\ntorch._assert(x.shape[1] <= 4, "x.shape[1] <= 4")\nreturn x',
    ),
    "one of several": (
        "assert x.size(0) in (1, 2), 'one or two'\nreturn x",
        "torch._assert((x.size(0) == 1) | (x.size(0) == 2), 'one or two')\nreturn x",
    ),
    "none of several": (
        "if x.size(0) in (1, 3):\n    raise ValueError\nreturn x",
        'torch._assert(x.size(0) != 1, "x.size(0) != 1")\ntorch._assert(x.size(0) != 3, "x.size(0) != 3")\nreturn x',
    ),
    "none of the last sizes": (
        "least = 3\nif any(size < least for size in x.shape[-2:]):\n    raise ValueError('small')\nreturn x",
        "least = 3\ntorch._assert(x.shape[-2] >= least, 'small')\n"
        "torch._assert(x.shape[-1] >= least, 'small')\nreturn x",
    ),
    "all of a tuple": (
        "assert all([n % k == 0 for n in (x.shape[1], x.size(0) + 1)]), 'no'\nreturn x".replace("k", "3"),
        "torch._assert(x.shape[1] % 3 == 0, 'no')\ntorch._assert((x.size(0) + 1) % 3 == 0, 'no')\nreturn x",
    ),
    "lists of sizes": (
        "assert list(x.shape) == list(x.size()), 'no'\nreturn x",
        "torch._assert(x.shape == x.size(), 'no')\nreturn x",
    ),
    "a list of sizes that is listed": (
        "n = 4\nif list(x.shape[1:]) != [3, n]:\n    raise ValueError('no')\nreturn x",
        "n = 4\ntorch._assert(x.shape[1:] == (3, n), 'no')\nreturn x",
    ),
    "a tuple of sizes": (
        "assert tuple(x.shape[1:]) == (3, 4), 'no'\nreturn x",
        "torch._assert(x.shape[1:] == (3, 4), 'no')\nreturn x",
    ),
    "a dtype": (
        "known = (torch.float32, torch.float64)\nif x.dtype not in known:\n    raise TypeError\nreturn x",
        "known = (torch.float32, torch.float64)\n"
        'torch._assert((x.dtype == torch.float32) | (x.dtype == torch.float64), "(x.dtype == torch.float32) | '
        '(x.dtype == torch.float64)")\nreturn x',
    ),
    "comments": (
        "y = x\nif x.shape[1] != 3:  # why\n    # 😋 how\n    raise ValueError('é')  # so\nreturn y",
        "y = x\n# why\n# 😋 how\ntorch._assert(x.shape[1] == 3, 'é')  # so\nreturn y",
    ),
    "several lines": (
        "if (\n    x.shape[1] != 3\n    or x.shape[0] > 2\n):\n    raise ValueError('a'\n        'b')\nreturn x",
        "torch._assert(x.shape[1] == 3, 'a'\n            'b')\n"
        "torch._assert(x.shape[0] <= 2, 'a'\n            'b')\nreturn x",
    ),
    "either": (
        "assert x.shape[1] != 4 or x.shape[0] != 2, 'no'\nreturn x",
        "torch._assert((x.shape[1] != 4) | (x.shape[0] != 2), 'no')\nreturn x",
    ),
    "all of several": (
        "if x.shape[1] != 3 and x.shape[0] != 2:\n    raise ValueError('no')\nreturn x",
        "torch._assert((x.shape[1] == 3) | (x.shape[0] == 2), 'no')\nreturn x",
    ),
    "what is computed for the message": (
        "if x.isinf().any():\n    # which one\n    first = x.isinf().nonzero()[0].tolist()\n"
        "    torch._assert(False, f'infinite at {first}')\nreturn x",
        '# which one\ntorch._assert(torch.sym_not(x.isinf().any()), "infinite at first")\nreturn x',
    ),
    "a message with a value that is known": (
        "if x.shape[1] != 3:\n    raise ValueError(f'{{sizes}} of {TABLE.dtype!r}: \"{x.shape}\"')\nreturn x",
        'torch._assert(x.shape[1] == 3, f"{{sizes}} of {TABLE.dtype!r}: \\"x.shape\\"")\nreturn x',
    ),
    "a template of str.format": (
        "assert x.dim() == 3, '{} has {:d}'.format('x', x.dim())\nreturn x",
        """torch._assert(x.dim() == 3, "'x' has x.dim()")\nreturn x""",
    ),
    "a template with other values": (
        "assert x.dim() == 3, '%(rank)s' % {'rank': 3, 'more': 4}\nreturn x",
        'torch._assert(x.dim() == 3, "%(rank)s")\nreturn x',
    ),
    "a loop around": (
        "for i in range(2):\n    assert x.shape[i] < 4, 'no: %d' % i\nreturn x",
        'for i in range(2):\n    torch._assert(x.shape[i] < 4, "no: i")\nreturn x',
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_guard_or_assert_becomes_torch_assert(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, fixes, bad, good).title == "Check with torch._assert"


def test_torch_keeps_the_name_that_the_file_imports_it_by(tmp_path: Path) -> None:
    bad = "import torch as t\n\ndef f(x):\n    assert not x.shape[0] % 3\n    return x\n"
    good = bad.replace("assert not x.shape[0] % 3", 't._assert(t.sym_not(x.shape[0] % 3), "t.sym_not(x.shape[0] % 3)")')
    check(tmp_path, fixes, bad, good)


@pytest.mark.parametrize("head", ["from torch import nn\n", '"""What it is."""\n\nimport math\n', ""])
def test_torch_is_imported_where_it_is_missing(head: str, tmp_path: Path) -> None:
    gap = "\n\n" if head else ""
    bad = f"{head}{gap}def f(x):\n    assert x.shape[0] < 3, 'no'\n    return x\n"
    good = f"{head}import torch\n\n\ndef f(x):\n    torch._assert(x.shape[0] < 3, 'no')\n    return x\n"
    check(tmp_path, fixes, bad, good)


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[1] != 3:\n    if x.sum() > 1:\n        return x\n    raise ValueError",
        "if x.shape[1] != 3:\n    raise ValueError\nelse:\n    return x",
        "if math.pi > 4:\n    return x\nelif x.shape[1] != 3:\n    raise ValueError",
        "assert x is None or x.shape[1] != 3",
        "assert x.shape[1] in range(3)",
        "assert any(n > 2 for n in x.shape[:2])",
        "assert all(n > 2 for n in x.shape)",
        "assert all(n > 2 for n in (1, x.shape[0]) if n < 5)",
        "assert x.shape[1] < x.shape[0].max() < 3",
        "if True: assert x.shape[1] == 3",
        "if x.shape[1] != 3:\n    return x",
        "return x if x.shape[1] != 3 else x + 1",
    ],
)
def test_other_code_is_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, function(body))
