"""What the editor says of each kind of failure, and of notice: one rule per file of this package.

A rule's file assigns ``RULE = Rule(...)``; that alone makes it a rule. Its examples are its tests
(``tests/unit/test_rules.py``) and, with its texts, its page under ``docs/rules/`` (``fx_lsp/rule_pages.py``).
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

from fx_lsp.agent.messages import Failure

Severity = Literal["error", "warning", "information", "hint"]
"""``error``: tracing fails there. ``warning``: tracing could not be tried, so nothing is known of the model. Of a
notice: how often it is wrong to go on, from nearly always (``warning``) to seldom (``hint``)."""

GENERAL = "exception"
"""The code of the rule that speaks for every kind without a rule of its own."""

_LONGEST_ERROR = 160
"""Characters of Python's own error that a message shows."""


@dataclass(frozen=True)
class Rule:
    """All that is said of some kinds of failure or notice."""

    code: str
    """The diagnostic's code and the name of its page, e.g. ``control-flow``."""
    title: str
    """What is wrong, in a few words without a full stop."""
    why: str
    """Why tracing can't go on there, and the ways out; Markdown, paragraphs."""
    bad: str
    """A whole file that has the failure."""
    good: str
    """The same file, mended."""
    message: Callable[[Failure, str], str]
    """``message(failure, expression)``: one sentence that names the failing expression (its source text, ``""`` where
    there is none to show) and the reason, then what to do."""
    kinds: tuple[str, ...] = ()
    """The values of ``Failure.kind`` it speaks for."""
    severity: Severity = "error"
    is_certain: bool = False
    """It is so however the module is built that is being traced."""
    is_notice: bool = False
    """The trace goes on there, but the graph may not do what the program does."""
    default_on: bool = True
    """Whether it is shown to those who have not asked for it."""
    fixes: tuple[str, ...] = ()
    """Modules of ``fx_lsp.fixes`` that may know an edit."""


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    rules: list[Rule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return tuple(sorted(rules, key=lambda rule: rule.code))


@functools.cache
def rule_for(kind: str) -> Rule:
    """The rule that speaks for failures of this kind: its own, or the general one."""
    own = [rule for rule in all_rules() if kind in rule.kinds]
    return own[0] if own else next(rule for rule in all_rules() if rule.code == GENERAL)


def subject(expression: str) -> str:
    """How a message begins: with the failing expression, or with ``This`` where its text can't be shown."""
    return f"`{expression}`" if expression else "This"


def parsed(expression: str) -> ast.expr | None:
    """The syntax of a failing expression; None for a statement, or where its text was cut."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def called(expression: str) -> str | None:
    """The name or dotted name that a failing expression calls, where a call is all it is: ``len`` for ``len(x)``."""
    call = parsed(expression)
    return ast.unparse(call.func) if isinstance(call, ast.Call) else None


def error_text(failure: Failure) -> str:
    """Python's own error, on one line, e.g. ``TypeError: 'int' object is not callable``."""
    return textwrap.shorten(failure.error.strip().partition("\n")[0], _LONGEST_ERROR, placeholder=" …")


def remark(failure: Failure) -> str:
    """Python's own error in brackets, to follow a sentence; of one of fxcore's own, the text alone."""
    name, _, text = error_text(failure).partition(": ")
    return f" ({text if name.endswith('Failure') else error_text(failure)})"


def about(failure: Failure) -> str:
    """What the value that was asked depends on, in plain words."""
    return _SUBJECTS.get(failure.subject, "the inputs")


_SUBJECTS = {
    "values": "the values of an input",
    "shape": "the shape of an input",
    "dtype": "the dtype of an input",
    "device": "the device of an input",
    "attribute": "a property of an input",
    "argument": "what the caller passes",
}
