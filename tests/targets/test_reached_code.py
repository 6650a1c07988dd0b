"""What a target can reach: an edit of anything else must not change what this says about it."""

import pytest

from fx_lsp.agent.messages import Recipe, Snippet, Span, Target
from fx_lsp.targets.reached_code import may_find, reached_code

HEAD = """\
import torch
from torch import nn
from helper import Base, Checked, build, names


class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = build(names[0])

    def forward(self, x):
        return self.part(x)


"""


def reaches(text: str, body: str, title: str = "One") -> bool:
    """Whether what is said of the target ``title()`` depends on ``body``."""
    target = Target(title, title, Span("/model.py", 1, 0, 1, 0), Recipe(Snippet(f"{title}()", 1)), symbol=title)
    before, after = reached_code(text, [target]), reached_code(text.replace(body, "pass"), [target])
    assert text.replace(body, "pass") != text
    return before.get(title) is None or before != after


def test_other_classes_are_not_reached() -> None:
    assert not reaches(f"{HEAD}class Other(nn.Module):\n    def forward(self, x):\n        return x", "return x")
    assert reaches(f"{HEAD}class Other(nn.Module):\n    def forward(self, x):\n        return x", "return self.part(x)")


@pytest.mark.parametrize(
    "others",
    [
        "class Mid(Base):\n    pass\n\n\nclass Other(Mid):\n    def forward(self, x):\n        return -x\n",
        "@Base\nclass Other(object):\n    def forward(self, x):\n        return -x\n",
        "@Base\nclass Mid(nn.Module):\n    pass\n\n\nclass Other(Mid):\n    def forward(self, x):\n        return -x\n",
        "class Other:\n    def forward(self, x):\n        return -x\n\n\ndef f(x: Checked[Other]): ...\n",
        "class Other:\n    def forward(self, x):\n        return -x\n\n\ndef f(*x: Checked[Other]): ...\n",
        "class Other:\n    def forward(self, x):\n        return -x\n\n\ndef f(x) -> Checked[Other]: ...\n",
        "class Other:\n    def forward(self, x):\n        return -x\n\n\nsome: Checked[Other] = 3\n",
        "class Other:\n    def forward(self, x):\n        return -x\n\n\nclass Third:\n    some: Checked[Other] = 3\n",
        "from helper import nn\n\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return -x\n",
        "class Mid:\n    pass\n\n\nMid = names\n\n\nclass Other(Mid):\n    def forward(self, x):\n        return -x\n",
    ],
    ids=[
        "a base of a base may know its subclasses",
        "a decorated class",
        "a base that was decorated",
        "an annotation",
        "an annotation of the rest",
        "an annotation of the result",
        "an annotation of a variable",
        "an annotation of an attribute",
        "a name of torch that is something else",
        "a class that is something else",
    ],
)
def test_what_other_code_may_get_hold_of_is_reached_without_being_named(others: str) -> None:
    assert reaches(HEAD + others, "return -x")


def test_names_of_torch_that_are_imported_twice_are_still_torchs() -> None:
    imports = "def f():\n    import torch, os\n    from torch import nn\n\n\n"
    other = "class Other(nn.Module):\n    def forward(self, x):\n        return -x"
    assert not reaches(HEAD + imports + other, "return -x")


def test_the_line_that_shows_how_to_build_a_target_is_reached_wherever_it_stands() -> None:
    text = f"{HEAD}def main():\n    net = One()\n    return 5\n"
    recipe = Recipe(Snippet("One()", text[: text.index("net =")].count("\n") + 1))
    target = Target("One", "One", Span("/model.py", 1, 0, 1, 0), recipe, symbol="One")
    first, moved, other = (
        reached_code(text.replace(*change), [target]) for change in (("", ""), ("net =", "network ="), ("5", "6"))
    )
    assert first == other != moved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\n\nmodel = 3", False),
        ("from pkg.sub.model import One", True),
        ("from . import model", True),
        ("from .other import (\n    first,\n    model,\n)", True),
        ("from .other import *", True),
        ("import pkg\n\npkg.sub.model", True),
        ("import pkg.other", True),
        ("from .. import sub", True),
        ("from pkg.other import thing", False),
        ("from pkg.sub import other", False),
        ("import importlib", True),
        ("from torch import nn\n\nnn.Module.__subclasses__()", True),
        ("from hydra.utils import instantiate", True),
        ("def f(g): return g.__globals__", True),
    ],
)
def test_a_file_that_may_find_a_module_is_told_by_its_text(text: str, expected: bool) -> None:
    assert may_find(text, ["pkg", "sub", "model"]) is expected
