"""The rules: every one is whole, its examples are true, its page is fresh."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

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


def test_every_example_was_traced(examples: tuple[Path, Checked]) -> None:
    _, checked = examples
    assert checked.unparsed == ()
    assert checked.files == 2 * len(all_rules())


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


@pytest.mark.parametrize("expression", ["max(a, b)", "min(a, b)", "any(a)", "all(a)", "sorted(a)"])
def test_a_builtin_that_compares_has_its_own_advice(expression: str) -> None:
    rule = rule_for("control-flow")
    failure = Failure("control-flow", "TraceError: no")
    assert f"torch.{expression.partition('(')[0][:3]}" in rule.message(failure, expression).replace("sym_", "")
    assert "torch.where" in rule.message(failure, f"{expression} > 0")
