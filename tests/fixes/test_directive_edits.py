"""Comments that code actions write: they mean what they are to mean, and change nothing that the program does."""

import ast

import pytest

from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.directive_edits import ignoring, skipping, stating_inputs, tracing
from fx_lsp.fixes.editing.edited_source import parsed
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.server.features.refactorings import on_selection
from fx_lsp.targets import find_targets

FILE = "/m.py"

MODEL = """\
from torch import nn

WIDTH = 3


# The model.
@nn.compile
class Net(nn.Module):
    def __init__(self, dim, name: str, flag: bool, depth=2, *, rate: float, other: dict, last=1):
        super().__init__()

    def forward(self, x):
        return x
"""


def after(text: str, fix: Fix | None) -> str:
    assert fix is not None
    return applied(fix.changes, lambda file: LineIndex(text))[FILE]


@pytest.mark.parametrize(
    ("recipe", "arguments"),
    [
        ("Net(16, 'a', True, rate=0.1, other={})", "(16, 'a', True, rate=0.1, other={})"),
        ("Net(WIDTH, str(4), True, rate=0.1, other={})", "(WIDTH, str(4), True, rate=0.1, other={})"),
        ("Net(local, 'a', True)", "(dim=8, name='', flag=True, rate=0.5, other=None)"),
        ("net", "(dim=8, name='', flag=True, rate=0.5, other=None)"),
        ("", "(dim=8, name='', flag=True, rate=0.5, other=None)"),
    ],
)
def test_a_trace_directive_has_the_arguments_of_the_last_build(recipe: str, arguments: str) -> None:
    text = after(MODEL, tracing(FILE, MODEL, "Net", recipe))
    assert f"# The model.\n# fx: trace{arguments}\n@nn.compile\nclass Net" in text
    (target,) = find_targets(FILE, text) or ()
    assert target.intent == "explicit"
    assert target.recipe.root.source == f"Net{arguments}"


def test_without_a_build_it_has_the_arguments_that_the_file_uses() -> None:
    calls = "def make(dim):\n    return Net(dim, 'a', True)\n\nnet = Net(WIDTH, 'b', False, rate=1.0, other={})\n"
    text = f"{MODEL}\n\n{calls}"
    expected = "# fx: trace(WIDTH, 'b', False, rate=1.0, other={})\n@nn.compile"
    assert expected in after(text, tracing(FILE, text, "Net", "net"))


def test_a_second_trace_directive_has_a_label_and_the_files_line_ends() -> None:
    text = MODEL.replace("@nn.compile", "# fx: trace(1)").replace("\n", "\r\n")
    text = after(text, tracing(FILE, text, "Net", "Net(2)"))
    assert "# fx: trace(1)\r\n# fx: trace[variant_2](2)\r\nclass Net" in text
    assert len(find_targets(FILE, text) or ()) == 2


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("self, x", "x=torch.rand(1, 3, 224, 224)"),
        ("self, x: torch.Tensor, n: int, mask=None", "x=torch.rand(1, 3, 224, 224), n=8"),
        ("self, x, /, *, sizes: list[int]", "torch.rand(1, 3, 224, 224), sizes=None"),
        ("self, ids: torch.LongTensor, n: bool", "ids=torch.ones(1, 8, dtype=torch.long), n=True"),
        ("self, images: List[Tensor]", "images=[torch.rand(1, 3, 224, 224)]"),
    ],
)
def test_an_inputs_directive_has_a_sample_for_each_required_input(parameters: str, arguments: str) -> None:
    model = MODEL.replace("self, x", parameters)
    text = after(model, stating_inputs(FILE, model, "Net"))
    assert f"# The model.\n# fx: inputs({arguments})\n@nn.compile\nclass Net" in text
    assert {target.recipe.inputs.source for target in find_targets(FILE, text) or () if target.recipe.inputs} == {
        f"({arguments})"
    }
    assert stating_inputs(FILE, text, "Net") is None
    assert stating_inputs(FILE, MODEL.replace("self, x", "self"), "Net") is None
    assert stating_inputs(FILE, MODEL, "Other") is None


def test_a_skip_directive_stops_the_trace() -> None:
    text = after(MODEL, skipping(FILE, MODEL, "Net"))
    assert find_targets(FILE, text) == ()
    assert skipping(FILE, text, "Net") is None
    assert tracing(FILE, text, "Net", "") is None
    assert tracing(FILE, "class Net:\n    pass\n", "Net", "") is None
    assert skipping(FILE, "(", "Net") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return len(x)\n", "def f(x):\n    return len(x)  # fx: ignore[len]\n"),
        ("def f(x):\n    return len(x)", "def f(x):\n    return len(x)  # fx: ignore[len]"),
        ("def f(x):\n    return len(x)  \n", "def f(x):\n    return len(x)  # fx: ignore[len]\n"),
        (
            "def f(x):\n    return len(x)  # noqa\n",
            "def f(x):\n    # fx: ignore[len]\n    return len(x)  # noqa\n",
        ),
        (
            "def f(x):\n    return len(x)  # fx: ignore[text]\n",
            "def f(x):\n    return len(x)  # fx: ignore[text, len]\n",
        ),
        (
            "def f(x):\n    # fx: ignore[text]\n    return len(x)\n",
            "def f(x):\n    # fx: ignore[text, len]\n    return len(x)\n",
        ),
        (
            "def f(x):\n    return (\n        len(x)\n    )\n",
            "def f(x):\n    return (\n        len(x)  # fx: ignore[len]\n    )\n",
        ),
        (
            "def f(x):\n    return 1 + \\\n        len(x)\n",
            "def f(x):\n    return 1 + \\\n        len(x)  # fx: ignore[len]\n",
        ),
        ("def f(x):\r\n    return len(x) # é\r\n", "def f(x):\r\n    # fx: ignore[len]\r\n    return len(x) # é\r\n"),
    ],
)
def test_an_ignore_directive_silences_the_rule_on_that_line(text: str, expected: str) -> None:
    line = next(number for number, code in enumerate(text.splitlines(), 1) if "len(x)" in code)
    assert after(text, ignoring(FILE, text, "len", line, line)) == expected


def test_no_ignore_directive_where_no_comment_fits() -> None:
    text = 'def f(x):\n    return """\n{}""" + len(x) \\\n        + 1  # noqa\n'
    assert ignoring(FILE, text, "len", 3, 3) is None


def test_a_problem_over_several_lines_is_ignored_on_one_of_them() -> None:
    text = 'def f(x):\n    return len(\n        """\n        """\n    )\n'
    ignored = after(text, ignoring(FILE, text, "len", 2, 5))
    assert directives_of(ignored).ignores("len", 2, 5)
    assert ast.dump(ast.parse(ignored)) == ast.dump(ast.parse(text))


SELECTION = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, scale=1 + 2):
        é = "😋"; y = torch.relu(x[0] * self.scale + scale)
        return y * sum(self.run(y))
"""


def selected(part: str) -> Fix | None:
    start = SELECTION.index(part)
    return on_selection(FILE, SELECTION, start, start + len(part))


@pytest.mark.parametrize("part", ["torch.relu(x[0] * self.scale + scale)", "x[0] * self.scale ", "x[0]"])
def test_a_selected_expression_becomes_a_recorded_function(part: str) -> None:
    text = after(SELECTION, selected(part))
    source = parsed(FILE, text)
    assert source is not None
    helper = source.tree.body[-2]
    assert isinstance(helper, ast.FunctionDef)
    assert f'torch.fx.wrap("{helper.name}")' in text
    assert f"{helper.name}(" in text.partition("class Net")[2]


def test_the_free_names_of_the_expression_are_the_parameters() -> None:
    fix = selected("x[0] * self.scale + scale")
    assert fix is not None
    assert fix.title == "Wrap the selected expression in a helper"
    text = after(SELECTION, fix)
    assert 'import torch\nimport torch.fx\n\ntorch.fx.wrap("_forward_y")\n' in text
    assert "def _forward_y(x, scale, " in text
    assert "y = torch.relu(_forward_y(x, scale, " in text


@pytest.mark.parametrize(
    "part", ["1 + 2", "x[0] *", "self.run", "self.run(y)", "y = ", "forward", "torch", "   ", "é", "scale=1"]
)
def test_a_selection_that_is_not_a_whole_expression_is_not_extracted(part: str) -> None:
    assert selected(part) is None
