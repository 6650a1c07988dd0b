"""What comments say to fx-lsp."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fx_lsp.agent.messages import Snippet, Target
from fx_lsp.check import check
from fx_lsp.config import Settings
from fx_lsp.directives import directives_of
from fx_lsp.targets import find_targets

NET = """\
import torch
from torch import nn

{above}
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
    def forward(self, x, flag=None):
        return x + self.n
"""


def targets(above: str, rest: str = "") -> list[Target]:
    found = find_targets("/w/file.py", NET.format(above=above) + dedent(rest))
    assert found is not None
    return list(found)


def reasons(text: str) -> list[str]:
    return [mistake.reason for mistake in directives_of(text).mistakes]


class TestTargets:
    def test_a_class_is_built_with_the_arguments_above_it(self) -> None:
        (target,) = targets("# fx: trace(n=3)")
        assert (target.title, target.intent, target.symbol) == ("Net(n=3)", "explicit", "Net")
        assert target.recipe.root == Snippet("Net(n=3)", 4)
        assert (target.span.line, target.span.col, target.span.end_col) == (5, 6, 9)

    def test_each_label_is_a_target_with_what_is_said_of_it_and_of_all(self) -> None:
        small, large = targets(
            "# fx: trace[small](1)\n# fx: trace[large](9)\n# fx: concrete_args(flag=None)\n# fx: tracer[large](T())"
        )
        assert (small.title, large.title) == ("Net(1)[small]", "Net(9)[large]")
        assert small.recipe.concrete_args == large.recipe.concrete_args == Snippet("dict(flag=None)", 6)
        assert (small.recipe.tracer, large.recipe.tracer) == (None, Snippet("(T())", 7))
        assert small.key != large.key

    def test_decorators_and_blank_lines_may_stand_between(self) -> None:
        (target,) = targets("# fx: trace(2)\n# what it is\n\n@final")
        assert target.recipe.root.source == "Net(2)"

    def test_a_function_is_traced_as_it_is(self) -> None:
        _, target = targets("", "\n# fx: trace\ndef f(x):\n    return x\n")
        assert (target.recipe.root.source, target.symbol) == ("f", "f")

    def test_what_is_skipped_is_not_traced_though_the_file_traces_it(self) -> None:
        assert targets("# fx: skip", "torch.fx.symbolic_trace(Net(3))\n") == []

    def test_an_instance_is_traced_with_what_is_said_of_its_class(self) -> None:
        (target,) = targets("# fx: concrete_args(flag=None)", "net = Net(3)\n")
        assert (target.key, target.recipe.concrete_args) == ("instance:net", Snippet("dict(flag=None)", 4))

    def test_leaves_are_a_tuple_of_classes(self) -> None:
        (target,) = targets("# fx: leaf(nn.Linear, Net)", "net = Net(3)\n")
        assert target.recipe.leaves is not None
        assert eval(target.recipe.leaves.source, {"nn": nn, "Net": int}) == (nn.Linear, int)

    @pytest.mark.parametrize(
        ("above", "root", "inputs"),
        [
            ("# fx: trace(3)\n# fx: inputs(torch.rand(2), flag=None)", "Net(3)", "(torch.rand(2), flag=None)"),
            ("# fx: trace(3, x=torch.rand(2))", "Net(3)", "(x=torch.rand(2))"),
            ("# fx: trace(n=3, x=torch.rand(2), flag=1)", "Net(n=3)", "(x=torch.rand(2), flag=1)"),
            ("# fx: trace(x=torch.rand(2))", "Net()", "(x=torch.rand(2))"),
        ],
    )
    def test_example_inputs(self, above: str, root: str, inputs: str) -> None:
        (target,) = targets(above)
        assert target.recipe.inputs is not None
        assert (target.recipe.root.source, target.recipe.inputs.source) == (root, inputs)
        assert all(recipe.inputs == target.recipe.inputs for recipe in target.fallbacks)

    def test_a_function_s_arguments_are_its_inputs(self) -> None:
        _, target = targets("", "\n# fx: trace(torch.rand(2))\ndef f(x):\n    return x\n")
        assert target.recipe.inputs is not None
        assert (target.recipe.root.source, target.recipe.inputs.source) == ("f", "(torch.rand(2))")

    def test_what_is_to_be_traced_without_saying_with_what(self) -> None:
        (target,) = targets("# fx: trace", "\ndef make():\n    return Net(5)\n")
        recipes = (target.recipe, *target.fallbacks)
        assert [recipe.root.source for recipe in recipes] == ["Net()", "Net(5)", "Net"]
        assert [recipe.made_up for recipe in recipes] == [False, False, True]


class TestMistakes:
    @pytest.mark.parametrize(
        ("comment", "reason"),
        [
            (
                "# fx: trce(3)",
                "`trce` is no directive; there are `concrete_args`, `ignore`, `inputs`, `leaf`, "
                "`skip`, `trace` and `tracer`",
            ),
            ("# fx: (3)", "no directive is named; there are "),
            ("#fx:", "no directive is named; there are "),
            ("# fx: trace(3", "`(3` can't be understood after `trace`"),
            ("# fx: trace(3 4)", "`(3 4)` can't be read as the arguments of a call"),
            ("# fx: trace() or not", "`or not` can't be understood after `trace`"),
            ("# fx: skip[len]", "`skip` takes no square brackets"),
            ("# fx: skip(3)", "`skip` takes no arguments"),
            ("# fx: concrete_args", "`concrete_args` takes a value for each input"),
            ("# fx: tracer()", "`tracer` takes one expression"),
            ("# fx: inputs()", "`inputs` takes the arguments of a call"),
            ("# fx: leaf", "`leaf` takes the classes of modules"),
            ("# fx: leaf(classes=Net)", "`leaf` takes the classes of modules"),
            ("# fx: ignore[length]", "`length` is no rule; there are `"),
        ],
    )
    def test_each_says_what_is_allowed(self, comment: str, reason: str) -> None:
        (said,) = reasons(NET.format(above=comment))
        assert said.startswith(reason)

    @pytest.mark.parametrize(
        "text", ["# fx: trace\nx = 1\n", "class A:\n    # fx: trace\n    class B:\n        pass\n"]
    )
    def test_what_is_about_a_definition_stands_above_one(self, text: str) -> None:
        assert reasons(text) == ["`trace` belongs above a class or a function at the top level of the file"]

    def test_other_comments_and_strings_are_none(self) -> None:
        assert reasons('# FX: rates\n# effects: fx\nx = \'# fx: nonsense\'\n"""\n# fx: nonsense\n"""\n') == []

    def test_the_place_is_the_comment_in_bytes(self) -> None:
        (mistake,) = directives_of("x = 'é'  # fx: é\n").mistakes
        assert (mistake.line, mistake.columns) == (1, (10, 18))

    @given(st.text(alphabet="# fx:trace[]()'\"\\\n\t=,é\x0c\r", max_size=40))
    def test_any_text_is_read_without_an_error(self, text: str) -> None:
        directives_of(f"fx:\n{text}")
        directives_of(f"x = 1  # fx:{text}")


class TestIgnore:
    def test_it_is_about_its_own_line_or_the_next_line_of_code(self) -> None:
        said = directives_of(
            "a = 1  # fx: ignore[len]\n# fx: ignore[iteration, len]\n\n# more\nb = 1\nc = 1  # fx: ignore\n"
        )
        ignored = {
            line: [code for code in ("len", "iteration", "control-flow") if said.ignores(code, line, line)]
            for line in range(1, 7)
        }
        assert ignored == {
            1: ["len"],
            2: [],
            3: [],
            4: [],
            5: ["len", "iteration"],
            6: ["len", "iteration", "control-flow"],
        }

    def test_it_stands_in_any_line_of_the_expression(self) -> None:
        said = directives_of("a = f(\n    x,  # fx: ignore\n)\n")
        assert said.ignores("len", 1, 3)


def test_all_together(tmp_path: Path) -> None:
    text = """\
    import torch.fx
    from torch import nn

    # fx: trace(3)
    # fx: concrete_args(flip=False)
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x, flip):
            y = -x if flip else x
            n = len(x)  # fx: ignore[len]
            return [v for v in y]

    # fx: skip
    def f(x):
        return len(x)

    # fx: trace(é=undefined)
    class Other(Net):
        pass

    # fx: ignore[nothing]
    torch.fx.symbolic_trace(f)
    """
    (tmp_path / "model.py").write_text(dedent(text), encoding="utf-8")
    checked = asyncio.run(check([tmp_path], Settings(interpreter=(sys.executable,))))
    source, found = dedent(text), [problem.finding for problem in checked.problems]
    assert [(item.rule.code, item.targets, source[item.place.start : item.place.end]) for item in found] == [
        ("iteration", ("Net(3)",), "y"),
        ("build", ("Other(é=undefined)",), "undefined"),
        ("directive", (), "# fx: ignore[nothing]"),
    ]
