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
from fx_lsp.check.check_files import check
from fx_lsp.documents.directives import directives_of
from fx_lsp.settings.settings import Settings
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

    def test_each_label_is_a_target_with_its_own_directives_and_those_without_label(self) -> None:
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

    def test_a_function_is_traced_without_being_called(self) -> None:
        _, target = targets("", "\n# fx: trace\ndef f(x):\n    return x\n")
        assert (target.recipe.root.source, target.symbol) == ("f", "f")

    def test_skip_applies_even_if_the_file_traces_the_class(self) -> None:
        assert targets("# fx: skip", "torch.fx.symbolic_trace(Net(3))\n") == []

    def test_an_instance_is_traced_with_the_directives_of_its_class(self) -> None:
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

    def test_trace_without_arguments_uses_every_known_recipe(self) -> None:
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
                "`trce` is not a directive; the directives are `concrete_args`, `expect`, `ignore`, `inputs`, `leaf`, "
                "`skip`, `trace` and `tracer`",
            ),
            ("# fx: (3)", "the name of the directive is missing; the directives are "),
            ("#fx:", "the name of the directive is missing; the directives are "),
            ("# fx: trace(3", "`(3` is not valid after `trace`"),
            ("# fx: trace(3 4)", "`(3 4)` is not a valid list of arguments"),
            ("# fx: trace() or not", "`or not` is not valid after `trace`"),
            ("# fx: skip[len]", "`skip` does not take square brackets"),
            ("# fx: skip(3)", "`skip` does not take arguments"),
            ("# fx: concrete_args", "`concrete_args` takes keyword arguments"),
            ("# fx: tracer()", "`tracer` takes one expression"),
            ("# fx: inputs()", "`inputs` takes the arguments of a call"),
            ("# fx: expect(flops)", "`expect` takes conditions"),
            ("# fx: leaf", "`leaf` takes one or more module classes"),
            ("# fx: leaf(classes=Net)", "`leaf` takes one or more module classes"),
            ("# fx: ignore[length]", "`length` is not a rule; the rules are `"),
        ],
    )
    def test_each_mistake_says_what_is_allowed(self, comment: str, reason: str) -> None:
        (said,) = reasons(NET.format(above=comment))
        assert said.startswith(reason)

    @pytest.mark.parametrize(
        "text", ["# fx: trace\nx = 1\n", "class A:\n    # fx: trace\n    class B:\n        pass\n"]
    )
    def test_a_directive_for_a_definition_must_be_above_one(self, text: str) -> None:
        assert reasons(text) == ["`trace` must be above a class or function at the top level of the file"]

    def test_other_comments_and_strings_are_not_directives(self) -> None:
        assert reasons('# FX: rates\n# effects: fx\nx = \'# fx: nonsense\'\n"""\n# fx: nonsense\n"""\n') == []

    def test_the_place_is_the_comment_in_bytes(self) -> None:
        (mistake,) = directives_of("x = 'é'  # fx: é\n").mistakes
        assert (mistake.line, mistake.columns) == (1, (10, 18))

    @given(st.text(alphabet="# fx:trace[]()'\"\\\n\t=,é\x0c\r", max_size=40))
    def test_any_text_is_read_without_an_error(self, text: str) -> None:
        directives_of(f"fx:\n{text}")
        directives_of(f"x = 1  # fx:{text}")


class TestIgnore:
    def test_ignore_applies_to_its_own_line_or_the_next_line_of_code(self) -> None:
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

    def test_ignore_may_be_on_any_line_of_the_expression(self) -> None:
        said = directives_of("a = f(\n    x,  # fx: ignore\n)\n")
        assert said.ignores("len", 1, 3)


def test_directives_together_trace_a_real_file(tmp_path: Path) -> None:
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
