"""Rewords errors for users: the classes of invented values are nothing that the program or its author knows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fx_lsp.agent.inventing.invented_values import InventedHolder, InventedModule, InventedSettings, NamedInventedModule
from fxcore.failures import ArgumentFailure

WORDS = "an invented value"
"""What users read instead of the name of a class of invented values."""

_CLASSES = (InventedSettings, InventedModule, InventedHolder, NamedInventedModule)


def is_about_invented(error: BaseException) -> bool:
    """Whether a trace has refused an invented value, since no graph can hold it."""
    return isinstance(error, ArgumentFailure) and f"<class '{__package__}." in str(error)


def in_plain_words(error: BaseException, paths: Iterable[str]) -> BaseException:
    """The error itself, whose message no longer names the class of an invented value.

    ``paths`` are those of the values: while arguments are searched for, the class of a value is named after its path.
    """
    message = error.args[0] if error.args else None
    if isinstance(error, TypeError | AttributeError) and isinstance(message, str):
        names = [name for path in paths for name in (f"{path}()", path)]
        for name in (*names, *(cls.__name__ for cls in _CLASSES)):
            message = _reworded(message, re.escape(name))
        error.args = message, *error.args[1:]
    return error


def _reworded(message: str, name: str) -> str:
    """The message, in which ``name`` is replaced where Python or torch write the name of a value's class there.

    The path of a value is often also the name of a parameter, which the message may mean instead.
    """
    end = r"(?![\w.\[])"
    message = re.sub(rf"non-iterable {name} object", f"{WORDS}, which is not iterable", message)
    message = re.sub(rf"'{name}' object", WORDS, message)
    message = re.sub(rf"(?:(?<=of )|(?<=: )|(?<=and ))'{name}'", WORDS, message)
    message = re.sub(rf"\bof type '?{name}{end}'?", f"that is {WORDS}", message)
    return re.sub(rf"""(?<=\bnot )["']?{name}{end}["']?""", WORDS, message)
