"""What fx-lsp reports for each kind of failure and notice: one rule per file, which assigns ``RULE = Rule(...)``.

Imports only ``fx_lsp.agent.messages`` and ``fx_lsp.locations``. Begin with `Rule`, then read any rule, such as
``dict_key.py``. The examples of a rule are also its tests (``tests/rules/test_rules.py``), and ``rule_pages.py``
writes the rule's page under ``docs/rules/`` from its examples and texts.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fx_lsp.agent.messages import Capture, Failure

Severity = Literal["error", "warning", "information", "hint"]
"""For a failure, ``error``: tracing fails at the marked place; ``warning``: fx-lsp could not trace, so it knows nothing
about the model; ``information``: fx-lsp could not run all of the code. For a notice: how often the graph is wrong, from
nearly always (``warning``) to seldom (``hint``)."""

GENERAL = "exception"
"""The code of the rule for all kinds of failure that no other rule covers."""

_LONGEST_ERROR = 160
"""How many characters of Python's own error a message shows."""


@dataclass(frozen=True)
class Rule:
    """What fx-lsp reports for one or more kinds of failure or notice."""

    code: str
    """The diagnostic's code and the name of its page, e.g. ``control-flow``."""
    title: str
    """What is wrong, in a few words without a period."""
    why: str
    """Why tracing cannot continue at the marked place, and what to do: paragraphs and lists in Markdown."""
    bad: str
    """A complete file that has the failure."""
    good: str
    """The same file, fixed."""
    text: str | Callable[[Failure, str], str]
    """One sentence that names the failing expression and the reason, then what to do.

    A template for `str.format`, or a function of the failure and the expression's source text. A template may name
    ``{subject}`` and ``{error}``, which the functions below make, and ``{detail}``, which is ``Failure.error``.
    """
    kinds: tuple[str, ...] = ()
    """The values of ``Failure.kind`` that the rule applies to."""
    capture: Capture = "fx"
    """The capture that has these failures or notices, of which the examples are, too."""
    severity: Severity = "error"
    is_certain: bool = False
    """Whether a finding holds regardless of how the traced module is built."""
    is_notice: bool = False
    """Whether the trace continues at the marked place, but the graph may not do what the program does."""
    default_on: bool = True
    """Whether findings are shown by default."""
    fixes: tuple[str, ...] = ()
    """Modules of ``fx_lsp.fixes`` that may offer an edit."""

    def message(self, failure: Failure, expression: str) -> str:
        """The message for ``failure``; ``expression`` is the failing source text, or ``""`` if that cannot be shown."""
        if not isinstance(self.text, str):
            return self.text(failure, expression)
        return self.text.format(subject=subject(expression), error=error_text(failure), detail=failure.error)


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    rules: list[Rule] = [module.RULE for module in modules if hasattr(module, "RULE")]
    return tuple(sorted(rules, key=lambda rule: rule.code))


@functools.cache
def rule_for(kind: str) -> Rule:
    """The rule for failures or notices of this kind: the one that lists the kind, or else the general rule."""
    own = [rule for rule in all_rules() if kind in rule.kinds]
    return own[0] if own else next(rule for rule in all_rules() if rule.code == GENERAL)


def subject(expression: str) -> str:
    """The beginning of a message: the failing expression, or ``This`` if its text cannot be shown."""
    return f"`{expression}`" if expression else "This"


def parsed(expression: str) -> ast.expr | None:
    """The syntax tree of a failing expression; None for a statement, or if its text was cut."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def called(expression: str) -> str | None:
    """The name or dotted name that a failing expression calls, if it is a call: ``len`` for ``len(x)``."""
    call = parsed(expression)
    return ast.unparse(call.func) if isinstance(call, ast.Call) else None


def hands_over(failure: Failure, expression: str) -> str:
    """What the failing expression does with a value that a graph cannot hold."""
    if expression.startswith("return") or failure.operation == "return":
        return "returns"
    return "passes" if failure.operation else "passes or returns"


def input_name(expression: str, default: str) -> str:
    """The input that a failing expression uses: ``images`` for ``len(images)``; ``default`` if it may be another."""
    nodes = list(ast.walk(parsed(expression) or ast.Constant(None)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - {called(expression)}
    reads_attribute = any(isinstance(node, ast.Attribute) for node in nodes)
    return default if reads_attribute or len(names) != 1 else names.pop()


def with_items(name: str, items: str) -> str:
    """The ``concrete_args`` that make an input a container whose items are traced values."""
    return f'`concrete_args={{"{name}": {items}}}`, where `PH` is `torch.fx.PH`'


def in_function(failure: Failure) -> bool:
    """Whether a function was traced, which has no submodules and no parameters: see ``fxcore.Tracer``."""
    return failure.error.endswith(" a function")


def error_text(failure: Failure) -> str:
    """Python's own error, on one line, e.g. ``TypeError: 'int' object is not callable``."""
    return textwrap.shorten(failure.error.strip().partition("\n")[0], _LONGEST_ERROR, placeholder=" …")


def remark(failure: Failure) -> str:
    """The error's class and text in parentheses, to follow a sentence; without the class if fxcore raised the error."""
    name, _, text = error_text(failure).partition(": ")
    return f" ({text if name.endswith('Failure') else error_text(failure)})"


def about(failure: Failure) -> str:
    """In plain words, what the unknown value that made tracing fail depends on, e.g. ``the shape of an input``."""
    return _SUBJECTS.get(failure.subject, "the inputs")


_SUBJECTS = {
    "values": "the values of an input",
    "shape": "the shape of an input",
    "dtype": "the dtype of an input",
    "device": "the device of an input",
    "attribute": "a property of an input",
    "argument": "what the caller passes",
}
