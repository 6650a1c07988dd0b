"""Finds the conditions in ``# fx: expect(…)`` above a class that do not hold for what the class costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Costs, Failure, ModuleCosts, Span, Step
from fx_lsp.analysis.costs.cost_texts import counted, foreign_operators, listed, size
from fx_lsp.analysis.findings import Finding
from fx_lsp.analysis.results import Traced
from fx_lsp.documents.directives import Directive, directives_of
from fx_lsp.documents.documents import Snapshot
from fx_lsp.documents.expectations import Expectation, Quantity, expectations_of
from fx_lsp.rules import rule_for
from fx_lsp.settings.rule_selection import Selection

KIND = "expectation"

INVENTED = "fx-lsp invented the arguments that it built the model with; write `# fx: trace(…)` above the class"

_NOUNS: dict[Quantity, str] = {
    "parameters": "parameters",
    "flops": "FLOPs",
    "activations": "of activations",
    "peak": "at the peak",
}


@dataclass(frozen=True)
class Held:
    """When a condition held that no longer does, and what the model cost then."""

    commit: str
    costs: Costs


def has_expectations(text: str) -> bool:
    """Whether a file's text says what a model should cost."""
    return any(directive.verb == "expect" for directive in directives_of(text).directives)


def broken(traced: Traced, costs: Costs, text: str) -> tuple[Expectation, ...]:
    """The conditions above a target's class in ``text``, the file's, that certainly do not hold.

    Leaves out those for the peak, which is no sum over submodules.
    """
    above = directives_of(text).above.get(traced.target.symbol or "", ())
    expected = (condition for directive in above for condition in _expected(directive))
    summed = (each for each in expected if each.quantity != "peak")
    return tuple(each for each in summed if (told := _told(each, traced, costs, None)) and told[1])


def holds_for(expected: Expectation, earlier: Costs, now: Costs) -> bool:
    """Whether a condition certainly held for ``earlier`` costs of a model, counted as those of ``now``."""
    number = _number(earlier.modules[0], expected.quantity) if earlier.modules else None
    is_comparable = expected.quantity == "parameters" or (earlier.input == now.input and not earlier.unknown)
    return number is not None and is_comparable and expected.holds(number)


def unmet(
    path: str,
    traced: Traced,
    costs: Costs,
    snapshot: Snapshot,
    selection: Selection,
    held: Mapping[str, Held] | None = None,
) -> tuple[Finding, ...]:
    """The findings for the conditions above a target's class that do not hold, or that can't be checked.

    ``snapshot`` has the texts that were traced, and ``held`` says of some conditions, by their text, when they held.
    """
    lines, rule = snapshot.lines_of(path), rule_for(KIND)
    if lines is None or rule not in selection or not traced.target.symbol:
        return ()
    found = []
    for directive in directives_of(lines.text).above.get(traced.target.symbol, ()):
        for expected in _expected(directive):
            told = _told(expected, traced, costs, (held or {}).get(expected.text))
            if told is None:
                continue
            message, is_certain = told
            line = lines.line(directive.line - 1)
            comment = len(line.encode()[: directive.columns[0]].decode())
            start = len(line[: line.index("(", comment) + expected.start].encode())
            span = Span(path, directive.line, start, directive.line, start + len(expected.text))
            place = snapshot.place(span)
            if place is not None:
                failure = Failure(KIND, message, (Step("", span),))
                severity = selection.severity(rule)
                titles = (traced.target.title,)
                finding = Finding(failure, message, place, (), titles, snapshot.moment, severity)
                found.append(finding if is_certain else dataclasses.replace(finding, severity="information"))
    return tuple(found)


def _expected(directive: Directive) -> Sequence[Expectation]:
    return (expectations_of(directive.arguments) or ()) if directive.verb == "expect" else ()


def _told(expected: Expectation, traced: Traced, costs: Costs, held: Held | None) -> tuple[str, bool] | None:
    """What to say of a condition, and whether it is certain that it does not hold; None if it holds."""
    number = _number(costs.modules[0], expected.quantity) if costs.modules else None
    is_invented = traced.report is not None and traced.report.intent == "assumed"
    if number is None or is_invented:
        return _unchecked(expected, INVENTED if is_invented else costs.reason)
    if expected.holds(number):
        reason = _left_out(expected.quantity, costs)
        return _unchecked(expected, reason) if reason else None
    given = f" for `{costs.input}`" if costs.input and expected.quantity != "parameters" else ""
    parts = [f"`{expected.text}` does not hold: the model has {_shown(number, expected.quantity)}{given}."]
    parts += (held and _grown(costs.modules, held, expected.quantity)) or _largest(costs.modules, expected.quantity)
    return " ".join(parts), True


def _unchecked(expected: Expectation, reason: str) -> tuple[str, bool]:
    return f"`{expected.text}` could not be checked: {reason}.", False


def _left_out(quantity: Quantity, costs: Costs) -> str:
    """Why a model may have more of a quantity than was counted; empty if it does not."""
    if quantity == "parameters":
        return ""
    if costs.unknown:
        return f"torch can't run some of the model's nodes without data: {listed(costs.unknown)}"
    foreign = foreign_operators(costs) if quantity == "flops" else []
    return f"torch has no formula for {listed(foreign)}" if foreign else ""


def _largest(modules: Sequence[ModuleCosts], quantity: Quantity) -> Iterator[str]:
    """A sentence about the submodule of the first level that has the most, if there is one."""
    if quantity == "peak":  # it is not a sum over submodules
        return
    own = [
        (number, module) for module in modules[1:] if "." not in module.path and (number := _number(module, quantity))
    ]
    if own:
        number, module = max(own, key=lambda item: item[0])
        yield f"The largest submodule is `{module.path}` ({module.type}), with {_shown(number, quantity)}."


def _grown(modules: Sequence[ModuleCosts], held: Held, quantity: Quantity) -> list[str]:
    """A sentence about the submodule of the first level that has grown most since a commit, if one has grown."""
    before = {module.path: _number(module, quantity) or 0 for module in held.costs.modules}
    own = [
        (number - before.get(module.path, 0), before.get(module.path, 0), number, module)
        for module in modules[1:]
        if "." not in module.path and (number := _number(module, quantity))
    ]
    growth, old, number, module = max(own, key=lambda item: item[0], default=(0, 0, 0, None))
    if module is None or growth <= 0:
        return []
    first = "new" if module.path not in before else f"up from {_shown(old, quantity)}"
    return [
        f"It held for this file as of commit `{held.commit}`; since then, `{module.path}` ({module.type}) has grown "
        f"most, to {_shown(number, quantity)} ({first})."
    ]


def _number(module: ModuleCosts, quantity: Quantity) -> int | None:
    if quantity == "parameters":
        return module.parameters.count
    return {"flops": module.flops, "activations": module.activations, "peak": module.peak}[quantity]


def _shown(number: int, quantity: Quantity) -> str:
    return f"{size(number) if quantity in ('activations', 'peak') else counted(number)} {_NOUNS[quantity]}"
