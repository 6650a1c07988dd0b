"""The rules: every one is whole, its examples are true, its page is fresh."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
import torch
import torch.fx

from fx_lsp.agent.messages import Failure, Limits
from fx_lsp.check import Checked, check
from fx_lsp.rule_pages import page, pages
from fx_lsp.rules import GENERAL, Rule, all_rules, rule_for
from fxcore.failures import FailureKind

ROOT = Path(__file__).parents[2]
OWN_KINDS = ("import", "build", "time-limit", "memory-limit", "crash")
"""Those of the agent, beside fxcore's."""

ALL_KINDS = [*(kind.value for kind in FailureKind), *OWN_KINDS]

by_code = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Checked]:
    """The folder of every rule's examples, ``<code>-bad.py`` and ``<code>-good.py``, and what checking them found."""
    folder = tmp_path_factory.mktemp("examples")
    for rule in all_rules():
        (folder / f"{rule.code}-bad.py").write_text(rule.bad, encoding="utf-8")
        (folder / f"{rule.code}-good.py").write_text(rule.good, encoding="utf-8")
    files = sorted(folder.glob("*.py"))
    limits = Limits(seconds=3.0)
    return folder, asyncio.run(check(files, python=sys.executable, limits=limits))


@by_code
def test_the_bad_example_fails_so_and_the_good_one_traces(rule: Rule, examples: tuple[Path, Checked]) -> None:
    folder, checked = examples
    codes = {
        name: [
            rule_for(problem.finding.failure.kind).code
            for problem in checked.problems
            if problem.finding.place.path == str(folder / f"{rule.code}-{name}.py")
        ]
        for name in ("bad", "good")
    }
    assert codes == {"bad": [rule.code], "good": []}


def test_a_warning_is_about_what_was_not_traced(examples: tuple[Path, Checked]) -> None:
    _, checked = examples
    assert checked.unread == ()
    assert checked.files == len(all_rules()) + sum(rule.severity == "error" for rule in all_rules())


@by_code
def test_its_page_is_fresh(rule: Rule) -> None:
    assert (ROOT / "docs/rules" / f"{rule.code}.md").read_text(encoding="utf-8") == page(rule)


def test_the_pages_are_these_and_no_others() -> None:
    folder = ROOT / "docs/rules"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")} == pages()


def test_codes_and_kinds_are_claimed_once() -> None:
    codes = [rule.code for rule in all_rules()]
    kinds = [kind for rule in all_rules() for kind in rule.kinds]
    assert len(set(codes)) == len(codes)
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) <= set(ALL_KINDS)
    assert all(rule_for(kind).code == kind for kind in OWN_KINDS)
    assert rule_for("a kind of the future").code == GENERAL


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_has_a_sentence_of_its_own(kind: str) -> None:
    failure = Failure(kind, "TypeError: 'int' object is not callable\nand more")
    rule = rule_for(kind)
    message = rule.message(failure, "f(x)")
    assert "\n" not in message
    assert message.endswith((".", ".)", "callable", "callable)"))
    others = {*ALL_KINDS, "a kind of the future"} - {kind}
    assert message not in {rule_for(other).message(Failure(other, failure.error), "f(x)") for other in others}
    assert kind == "import" or message.startswith("`f(x)` ")
    assert kind == "import" or rule.message(failure, "").startswith("This ")


@pytest.mark.parametrize(
    ("kind", "expression", "advice"),
    [
        ("iteration", "(*x.shape, 3)", "Adding tuples"),
        ("iteration", "x.view(*s, 3)", "one tuple"),
        ("iteration", "images", "a fixed number"),
        ("conversion", "int(n)", "torch.sym_int"),
        ("conversion", "float(n)", "torch.sym_float"),
        ("conversion", "range(n)", "that is known"),
        ("conversion", "buffer[:, :n]", "narrow"),
        ("conversion", "f'{x}'", "out of the text"),
        ("conversion", "torch.zeros(n, m)", "one tuple"),
        ("conversion", "names[n]", "torch.fx.wrap"),
        ("len", "len(x)", ".size(0)"),
        ("len", "reversed(x)", "a function of its own"),
        ("len", "", ".size(0)"),
    ],
)
def test_the_advice_fits_the_expression(kind: str, expression: str, advice: str) -> None:
    assert advice in rule_for(kind).message(Failure(kind, "SomeFailure: x is a traced value"), expression)


@pytest.mark.parametrize(
    ("kind", "error", "shown"),
    [
        ("conversion", "ConversionFailure: `x` is a traced value", False),
        ("conversion", "TypeError: ones() takes 1 positional argument but 2 were given", True),
        ("foreign-call", "ValueError: invalid __array_struct__", True),
        ("exception", "KeyError: 'a'", True),
    ],
)
def test_python_s_error_is_shown_where_it_says_more(kind: str, error: str, shown: bool) -> None:
    assert rule_for(kind).message(Failure(kind, error), "f(x)").endswith(f" ({error})") is shown


def test_fxcore_s_own_text_is_shown_without_the_name_of_its_exception() -> None:
    failure = Failure("not-a-submodule", "NotASubmoduleFailure: a ReLU is no submodule of Net")
    assert rule_for(failure.kind).message(failure, "f(x)").endswith(" (a ReLU is no submodule of Net)")


@pytest.mark.parametrize(
    "recommended",
    [
        "x.shape + (3,)",
        "x.view(x.shape + (1,))",
        "torch.zeros((x.size(0), x.size(1))) + x",
        "x.narrow(1, 0, torch.sym_int(x.size(0) / 2))",
        "x * torch.sym_float(x.size(0))",
        "x * torch.sym_max(x.size(0), 7)",
        "x * torch.sym_min(x.size(0), 1)",
        "x * torch.sym_ite(x.size(0) > 1, 2, 3)",
        "torch.maximum(x, -x) + torch.minimum(x, -x)",
        "torch.where(x.sum() > 0, torch.relu(x), torch.neg(x))",
        "(torch._assert(x.dim() == 2, 'matrices'), x)[1]",
        "torch.any(x > 0) | torch.all(x > 0)",
        "torch.sort(x)[0]",
        "x.masked_fill(x > 0, 1.0)",
        "x.index_put((x > 0,), torch.tensor(1.0))",
        "x * x.size(0) * x.dim()",
    ],
)
def test_what_the_rules_recommend_traces(recommended: str) -> None:
    function = eval(f"lambda x: {recommended}", {"torch": torch})
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    traced = torch.fx.symbolic_trace(function)
    assert str(traced(x)) == str(function(x))


@pytest.mark.parametrize("expression", ["max(a, b)", "min(a, b)", "any(a)", "all(a)", "sorted(a)"])
def test_a_builtin_that_compares_has_its_own_advice(expression: str) -> None:
    rule = rule_for("control-flow")
    failure = Failure("control-flow", "TraceError: no")
    assert f"torch.{expression.partition('(')[0][:3]}" in rule.message(failure, expression).replace("sym_", "")
    assert "torch.where" in rule.message(failure, f"{expression} > 0")
