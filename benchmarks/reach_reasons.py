"""Sorts the reasons why classes have no verdict, and says what to do about each."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable

_INSTALL = "Install the package in the environment that fx-lsp uses (`fx-lsp which` names it)."
_SHOW = "Show how to build it: call it in the workspace, or write its arguments in a comment `# fx: trace(…)` above it."

KINDS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), reason, advice)
    for pattern, reason, advice in (
        (
            r"^it needs a file or weights|^it depends on what .* loads",
            "it needs a file or weights that are not available",
            "Put the file where the "
            "code looks for it, or switch the weights off with `# fx: trace(…)` above the class.",
        ),
        (r"^it depends on the result of", "it depends on what a missing function or module returns", _INSTALL),
        (
            r"^it depends on .*missing",
            "it uses a missing package for more than a submodule, a base class or a decorator",
            _INSTALL,
        ),
        (r"^it calls .*which is missing", "it traces but for a call of a missing function", _INSTALL),
        (r"possibly because .* missing$", "it raises an error, possibly because a package is missing", _INSTALL),
        (
            r"possibly because of weights",
            "it raises an error, possibly because weights could not be loaded",
            "Put the weights where the code looks for them.",
        ),
        (r"^fx-lsp could not invent arguments", "fx-lsp could not invent arguments for it", _SHOW),
        (
            r"possibly because of the arguments",
            "it raises an error, possibly because of the arguments that fx-lsp invented",
            _SHOW,
        ),
        (
            r"(module|value) that fx-lsp invented",
            "what it does depends on a module or value that fx-lsp invented",
            _SHOW,
        ),
        (
            r"^it leaves part of its work to subclasses",
            "it leaves part of its work to subclasses",
            "Look at the verdicts on its subclasses.",
        ),
        (
            r"^`.*which it reads, and was not called$|^it reads `.*once it is built$|^it was built without|some cases$",
            "other code completes it, or defines what it reads",
            "Write a function that builds it completely, and name that in `# fx: trace(…)` above the class.",
        ),
        (
            r"^it depends on the machine",
            "it depends on the machine or the command line",
            _SHOW,
        ),
        (r"^its definition raises", "its definition raises an error when the file is imported", _INSTALL),
        (r"does not define `", "an example in a text does not show how to build it", _SHOW),
        (
            r"memory",
            "it needs more memory than the limit",
            "Raise `fxLsp.memoryLimit`, or give the class smaller sizes with `# fx: trace(…)`.",
        ),
        (
            r"time limit|timed.out",
            "it takes longer than the limit",
            "Raise `fxLsp.timeLimit`, or move slow work out of the import and the constructor.",
        ),
        (
            r"^(Importing|not-imported|Only the definitions)|fails here, so",
            "its file can't be imported",
            "Mend the line that the diagnostic `import` marks; often a package is missing.",
        ),
        (
            r"^no(t-built| target|ne)|^it is no target|can't be built",
            "its recipe in the workspace raises an error, or the class is defined only under a condition",
            _SHOW,
        ),
        (
            r"ended by|crash|silent",
            "its process died",
            "Look at the message; `fx-lsp doctor --bundle` collects what a report needs.",
        ),
    )
)
"""Each kind of reason: how its text is recognized, its words in the table, and what to do."""


def without_details(reason: str) -> str:
    """A reason for the cell of a table, without the names and errors that differ from class to class."""
    return re.sub(r"`[^`]*`", "`…`", reason).partition(": ")[0].replace("|", "\\|")


def table(reasons: Iterable[str]) -> str:
    """A table that counts the ``reasons`` by kind, with what to do; a reason of no known kind stands for itself."""
    counts = collections.Counter(map(_kind, reasons))
    rows = (f"| {reason} | {count} | {advice} |" for (reason, advice), count in counts.most_common())
    return "\n".join(("| reason | classes | what to do |", "|---|---|---|", *rows))


def _kind(reason: str) -> tuple[str, str]:
    known = ((words, advice) for pattern, words, advice in KINDS if pattern.search(reason))
    return next(known, (without_details(reason), "Please report it: fx-lsp has no advice for this."))
