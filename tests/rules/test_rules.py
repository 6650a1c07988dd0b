"""Every rule is complete, its examples do what it says, and its page is up to date."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import torch.fx

from fx_lsp.agent.messages import Capture, Failure
from fx_lsp.check.check_files import Checked, check
from fx_lsp.rules import GENERAL, Rule, all_rules, rule_for
from fx_lsp.rules.rule_pages import page, pages
from fx_lsp.settings.settings import Settings
from fxcore.failures import FailureKind
from fxcore.notices import NoticeKind

ROOT = Path(__file__).parents[2]
OWN_KINDS = ("import", "missing-package", "definitions-only", "build", "time-limit", "memory-limit", "crash", "denied")
"""Those of the agent, beside fxcore's."""

CAPTURE_KINDS = [kind for rule in all_rules() if rule.capture != "fx" for kind in rule.kinds]
"""Those of the captures other than symbolic tracing."""

ALL_KINDS = [
    *CAPTURE_KINDS,
    *(kind.value for kind in (*FailureKind, *NoticeKind)),
    *OWN_KINDS,
    "directive",
    "expectation",
]

by_code = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)

FX_RULES = [rule for rule in all_rules() if rule.capture == "fx"]


def checked_examples(folder: Path, rules: Sequence[Rule], captures: Sequence[Capture], seconds: float) -> Checked:
    """Write the examples of rules, ``<code>-bad.py`` and ``<code>-good.py``, and check them."""
    for rule in rules:
        (folder / f"{rule.code}-bad.py").write_text(rule.bad, encoding="utf-8")
        (folder / f"{rule.code}-good.py").write_text(rule.good, encoding="utf-8")
    settings = Settings(interpreter=(sys.executable,), time_limit=seconds, notices=("all",))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # so that no other workspace is searched for uses of the examples
        return asyncio.run(check(sorted(folder.glob("*.py")), settings, captures=captures))


def codes_of(rule: Rule, folder: Path, checked: Checked) -> dict[str, list[str]]:
    """The codes that were found in each of a rule's examples."""
    return {
        name: [
            rule_for(problem.finding.failure.kind).code
            for problem in checked.problems
            if problem.finding.place.path == str(folder / f"{rule.code}-{name}.py")
        ]
        for name in ("bad", "good")
    }


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Checked]:
    """The folder of the examples of symbolic tracing's rules, and what checking them found."""
    folder = tmp_path_factory.mktemp("examples")
    return folder, checked_examples(folder, FX_RULES, ("fx",), seconds=1)  # one example never ends


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
@pytest.mark.parametrize("capture", ["export", "compile"])
def test_the_bad_examples_of_a_capture_fail_and_the_good_ones_do_not(capture: Capture, tmp_path: Path) -> None:
    rules = [rule for rule in all_rules() if rule.capture == capture]
    checked = checked_examples(tmp_path, rules, (capture,), seconds=8)
    assert {rule.code: codes_of(rule, tmp_path, checked) for rule in rules} == {
        rule.code: {"bad": [rule.code], "good": []} for rule in rules
    }


@pytest.mark.parametrize("rule", FX_RULES, ids=lambda rule: rule.code)
def test_the_bad_example_fails_and_the_good_one_traces(rule: Rule, examples: tuple[Path, Checked]) -> None:
    folder, checked = examples
    assert codes_of(rule, folder, checked) == {"bad": [rule.code], "good": []}


def test_the_kinds_of_the_agent_mean_that_the_target_was_not_traced(examples: tuple[Path, Checked]) -> None:
    _, checked = examples
    assert checked.unread == {}
    untraced = {*OWN_KINDS} - {"definitions-only", "denied"}
    assert len(checked.traced_targets()) == len(FX_RULES) + sum(rule.code not in untraced for rule in FX_RULES)


def test_a_notice_has_a_rule_of_its_own_and_no_other_rule_is_a_notice() -> None:
    kinds = {kind for rule in all_rules() if rule.is_notice and rule.capture == "fx" for kind in rule.kinds}
    assert kinds == {kind.value for kind in NoticeKind}
    assert all(rule.default_on for rule in all_rules() if not rule.is_notice)
    assert not any(rule.severity == "error" for rule in all_rules() if rule.is_notice)


@by_code
def test_its_page_is_up_to_date(rule: Rule) -> None:
    assert (ROOT / "docs/rules" / f"{rule.code}.md").read_text(encoding="utf-8") == page(rule)


def test_there_are_no_other_pages() -> None:
    folder = ROOT / "docs/rules"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")} == pages()


def test_no_two_rules_share_a_code_or_a_kind() -> None:
    codes = [rule.code for rule in all_rules()]
    kinds = [kind for rule in all_rules() for kind in rule.kinds]
    assert len(set(codes)) == len(codes)
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) <= set(ALL_KINDS)
    assert all(rule_for(kind).code == kind for kind in OWN_KINDS)
    assert rule_for("a kind of the future").code == GENERAL


FAILURES = [*(kind.value for kind in FailureKind), *OWN_KINDS, *CAPTURE_KINDS]


@pytest.mark.parametrize("kind", FAILURES)
def test_every_kind_of_failure_has_a_sentence_of_its_own(kind: str) -> None:
    failure = Failure(kind, "TypeError: 'int' object is not callable\nand more")
    rule = rule_for(kind)
    message = rule.message(failure, "f(x)")
    assert "\n" not in message
    assert message.endswith((".", ".)", "callable", "callable)"))
    others = {*FAILURES} - {kind}
    assert message not in {rule_for(other).message(Failure(other, failure.error), "f(x)") for other in others}
    assert kind == "import" or message.startswith("`f(x)` ")
    assert kind == "import" or rule.message(failure, "").startswith("This ")


def said(kind: str, expression: str, operation: str = "", subject: str = "", error: str = "Failure: no") -> str:
    """The message on a failure."""
    failure = Failure(kind, error, subject=subject, operation=operation)
    return rule_for(kind).message(failure, expression)


@pytest.mark.parametrize(
    ("subject", "said_of_it", "advice"),
    [
        ("shape", "the shape of an input", "a size that `__init__` sets"),
        ("dtype", "the dtype of an input", "`x.to(dtype)`"),
        ("device", "the device of an input", "`x.to(device)`"),
        ("attribute", "a property of an input", "`__init__`"),
        ("values", "the values of an input", "`torch.where`"),
        ("argument", "what the caller passes", 'concrete_args={"flag": ...}'),
        ("", "the inputs", "`torch.fx.wrap`"),
    ],
)
def test_control_flow_names_what_the_condition_depends_on(subject: str, said_of_it: str, advice: str) -> None:
    message = said("control-flow", "flag", "if", subject)
    assert said_of_it in message
    assert advice in message


@pytest.mark.parametrize(
    ("operation", "decider", "advice"),
    [
        ("if", "this `if`", "a function wrapped"),
        ("guard", "this check", "torch._assert"),
        ("assert", "this `assert`", "torch._assert"),
        ("while", "this `while`", "a fixed number of times"),
        ("and", "`and`", "a function wrapped"),
        ("or", "`or`", "a function wrapped"),
        ("not", "`not`", "a function wrapped"),
        ("conditional", "this conditional expression", "torch.sym_ite"),
        ("comparison", "this chained comparison", "(a < b) & (b < c)"),
        ("in", "`in`", "a function wrapped"),
        ("bool", "`bool`", "a function wrapped"),
        ("", "this branch", "a function wrapped"),
    ],
)
def test_control_flow_names_what_cannot_be_evaluated(operation: str, decider: str, advice: str) -> None:
    message = said("control-flow", "n > 3", operation, "shape")
    assert f"so {decider} cannot be evaluated while tracing" in message
    assert advice in message


@pytest.mark.parametrize("builtin", ["max", "min", "any", "all", "sorted"])
def test_a_builtin_that_compares_has_its_own_advice(builtin: str) -> None:
    for_tensors = said("control-flow", f"{builtin}(a, b)", builtin, "values")
    for_sizes = said("control-flow", f"{builtin}(a, b)", builtin, "shape")
    assert f"so `{builtin}` cannot be evaluated while tracing" in for_tensors
    assert f"`torch.{builtin[:3]}" in for_tensors.replace("sorted", "sort")
    assert for_tensors != for_sizes


@pytest.mark.parametrize(
    ("kind", "expression", "operation", "subject", "advice"),
    [
        ("iteration", "(*x.shape, 3)", "star", "shape", "Add the tuples"),
        ("iteration", "x.view(*s, 3)", "star", "shape", "one tuple"),
        ("iteration", "images", "for", "values", "a fixed number"),
        ("iteration", "images", "for", "argument", "concrete_args"),
        ("iteration", "x.shape", "for", "shape", "n, c, h, w = x.shape"),
        ("iteration", "sum(x)", "sum", "values", ".sum(0)"),
        ("iteration", "sum(x.shape)", "sum", "shape", "n, c, h, w = x.shape"),
        ("item-assignment", "x[0]", "index", "values", "masked_fill"),
        ("item-assignment", "features[name]", "index", "argument", '{"features": {'),
        ("iteration", "a, *b", "unpacking", "values", "a, b, c = x"),
        ("conversion", "int(n)", "int", "shape", "torch.sym_int"),
        ("conversion", "float(n)", "float", "values", "torch.sym_float"),
        ("conversion", "range(n)", "range", "shape", "a fixed number of times"),
        ("conversion", "buffer[:, :n]", "slice", "shape", "narrow"),
        ("conversion", "f'{x:d}'", "format", "values", "out of the text"),
        ("conversion", "'%d' % x", "operator", "values", "out of the text"),
        ("conversion", "'{:d}'.format(x)", "", "values", "out of the text"),
        ("conversion", "hex(n)", "hex", "values", "torch.fx.wrap"),
        ("conversion", "sizes[n]", "index", "shape", "a plain number as its index"),
        ("len", "len(x)", "len", "values", ".size(0)"),
        ("len", "len(x.shape)", "len", "shape", ".dim()"),
        ("len", "len(images)", "len", "argument", '{"images": [PH, PH]}'),
        ("len", "len(batch.images)", "len", "argument", '{"items": [PH, PH]}'),
        ("len", "reversed(x)", "reversed", "values", ".flip(0)"),
        ("len", "torch.tensor([n])", "torch.tensor", "shape", "into a tuple"),
        ("len", "count(x)", "count", "values", "a function wrapped"),
        ("len", "", "", "", ".size(0)"),
        ("containment", "name in options", "in", "argument", '{"options": {"key": PH}}'),
        ("containment", "3 in x.shape", "in", "shape", "x.shape[0] == n"),
        ("foreign-call", "torch.ones(n, m)", "torch.ones", "shape", "one tuple"),
        ("foreign-call", "self.ids.expand(n, -1)", "self.ids.expand", "shape", "one tuple"),
        ("foreign-call", "torch.tensor(x)", "torch.tensor", "", "copies numbers"),
        ("foreign-call", "np.sqrt(x)", "numpy.sqrt", "", "torch.sqrt"),
        ("foreign-call", "torch.finfo(x.dtype)", "torch.finfo", "", "a known dtype"),
        ("foreign-call", "torch.vmap(f)(x)", "torch.vmap", "", "only real tensors"),
        ("foreign-call", "torch.cond(p, f, g, (x,))", "torch.cond", "", "torch.where"),
        ("foreign-call", "torch._check(n > 1)", "torch._check", "", "torch._assert"),
        ("foreign-call", "torch.autocast(d)", "torch.autocast", "", "Name the device"),
        ("foreign-call", "torch.jit.script(f)(x)", "torch.jit.script", "", "compiled"),
        ("foreign-call", "rearrange(x, 'a b -> b a')", "einops.rearrange", "", "`permute`"),
        ("foreign-call", "self.split(x)", "einops.layers.torch.Rearrange", "", "a leaf"),
        ("foreign-call", "self.tokenizer(x)", "transformers.AutoTokenizer.from_pretrained()", "", "only text"),
        ("foreign-call", "json.dumps(x)", "json.dumps", "", "out of the text"),
        ("foreign-call", "divmod(x, 2)", "divmod", "", "`//` and `%`"),
        ("foreign-call", "f(x)", "f", "", "real tensors or plain numbers"),
        ("exception", "assert isinstance(x, Tensor)", "", "", "not an instance"),
        ("exception", "assert torch.is_tensor(x)", "", "", "not an instance"),
        ("exception", "assert x", "", "", "works when it is not traced"),
        ("exception", "1 / 0", "operator", "", "works when it is not traced"),
        ("exception", "raise ValueError(x)", "", "", "was reached while tracing"),
        ("argument", "return {x}", "", "", "`return {x}` returns"),
        ("dict-key", "return {x: 1}", "", "", "`return {x: 1}` returns"),
        ("argument", "x.add({1})", "x.add", "", "`x.add({1})` passes an object"),
        ("argument", "", "", "", "passes or returns"),
    ],
)
def test_the_advice_fits_the_expression(kind: str, expression: str, operation: str, subject: str, advice: str) -> None:
    assert advice in said(kind, expression, operation, subject)


@pytest.mark.parametrize("kind", ["not-a-parameter", "not-a-submodule"])
def test_a_message_about_a_function_does_not_speak_of_the_traced_module(kind: str) -> None:
    of_module, of_function = (
        said(kind, "f(x)", error=f"NameError: it is not of {root}") for root in ("Net", "a function")
    )
    assert "the module being traced" in of_module
    assert "a traced function" in of_function
    assert "Make the function the `forward` of an `nn.Module`" in of_function


@pytest.mark.parametrize(
    ("operator", "advice"),
    [("rand", "`torch.rand_like`"), ("randperm", "outside `forward`"), ("bernoulli_", "outside")],
)
def test_the_advice_fits_the_random_function(operator: str, advice: str) -> None:
    assert advice in said("frozen-random", "f(3)", error=operator)


def test_a_key_error_says_that_a_traced_value_is_no_key() -> None:
    assert "always fails" in said("exception", "table[x]", "index", error="KeyError: Proxy(x)")


@pytest.mark.parametrize(
    ("kind", "error", "shown"),
    [
        ("conversion", "ConversionFailure: `x` is a traced value", ""),
        ("foreign-call", "ValueError: invalid __array_struct__", " (ValueError: invalid __array_struct__)"),
        ("exception", "KeyError: 'a'\nand more", " (KeyError: 'a')"),
        ("not-a-submodule", "NotASubmoduleFailure: a ReLU is no part of Net", " (a ReLU is no part of Net)"),
    ],
)
def test_the_message_ends_with_pythons_error_where_that_says_more(kind: str, error: str, shown: str) -> None:
    message = said(kind, "f(x)", error=error)
    assert message.endswith(shown or ".")
    assert (error.partition("\n")[0].partition(": ")[2] in message) is bool(shown)


def test_a_long_error_is_cut() -> None:
    message = said("exception", "f(x)", error=f"ValueError: {'very ' * 100}long")
    assert message.endswith(" …)")
    assert len(message) < 400


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
        "x.flip(0) + x[0]",
        "x.unflatten(1, (torch.sym_int(math.sqrt(x.shape[0])), -1))",
        "x * ((1 < x.size(0)) & (x.size(0) < 9))",
        "torch.slice_scatter(x, x[:, :1], 1, 1, 2)",
        "(x == 1).any()",
        "x // 2 + x % 2",
        "torch.stack([x, x])",
        "x.to(torch.float64).to(x.device)",
    ],
)
def test_code_that_the_rules_recommend_traces(recommended: str) -> None:
    function = eval(f"lambda x: {recommended}", {"torch": torch, "math": math})
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    traced = torch.fx.symbolic_trace(function)
    assert str(traced(x)) == str(function(x))
