"""The settings: their names, types, defaults and what they mean, in this one place.

``package.json`` of the VS Code extension takes its settings from :func:`vscode_properties`; every other client sends
the same names, under ``fxLsp`` in ``workspace/configuration`` or at the top of its ``initializationOptions``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SECTION = "fxLsp"
"""The section of ``workspace/configuration`` that holds the settings."""

LOG_LEVELS = ("error", "warning", "info", "debug")


def _setting(default: Any, description: str, schema: Mapping[str, Any], *, scope: str = "window") -> Any:
    """A dataclass field that knows what ``package.json`` says about it."""
    metadata = {"description": description, "schema": dict(schema), "scope": scope}
    if isinstance(default, (tuple, dict)):
        return dataclasses.field(default_factory=lambda: default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """What a user can choose. A field's name in camel case is the setting's name."""

    interpreter: tuple[str, ...] = _setting(
        (),
        "The Python that traces: the one your project runs with, where its PyTorch is installed. The command and its "
        "arguments; `~`, `${workspaceFolder}` and `${env:NAME}` are filled in. When empty: the interpreter that is "
        "selected in the editor, then `$VIRTUAL_ENV`, then `.venv` or `venv` in the workspace folder, then `python` "
        "on the PATH.",
        {"type": "array", "items": {"type": "string"}},
        scope="machine-overridable",
    )
    env: Mapping[str, str] = _setting(
        {},
        "Environment variables to set for the interpreter that traces.",
        {"type": "object", "additionalProperties": {"type": "string"}},
        scope="machine-overridable",
    )
    trace_delay: int = _setting(
        80,
        "Milliseconds without a change before a file is traced again.",
        {"type": "integer", "minimum": 0},
    )
    time_limit: float = _setting(
        10,
        "Seconds that importing a file may take, and again that tracing each of its models may take.",
        {"type": "number", "exclusiveMinimum": 0},
    )
    memory_limit: int = _setting(
        4096,
        "MiB of memory that importing and tracing one file may use beyond what an idle interpreter with PyTorch takes.",
        {"type": "integer", "minimum": 64},
    )
    exclude: tuple[str, ...] = _setting(
        (),
        "Files that are never traced: glob patterns, relative to the workspace folder, e.g. `scripts/**`.",
        {"type": "array", "items": {"type": "string"}},
    )
    notices: tuple[str, ...] = _setting(
        (),
        "Codes of the notices to show that are off by default, e.g. `training-flag`; `all` for all of them. A notice "
        "is about a model that traces, but whose graph does not do all that the model does.",
        {"type": "array", "items": {"type": "string"}},
    )
    hover: bool = _setting(
        True,
        "Show the generated `forward` of a model when the pointer rests on its name.",
        {"type": "boolean"},
    )
    log_level: str = _setting(
        "info",
        "How much the server writes to its log.",
        {"type": "string", "enum": list(LOG_LEVELS)},
    )

    @classmethod
    def read(cls, values: Any) -> tuple[Settings, list[str]]:
        """Settings from what a client sent, and one sentence for each value that could not be used.

        A name that is missing or None has its default, and so has a value of the wrong type or out of bounds.
        Names that are no setting are left alone: clients keep settings of their own in the same section.
        """
        if not isinstance(values, Mapping):
            return cls(), [] if values is None else [f"{SECTION} is not an object, so every setting has its default"]
        chosen: dict[str, Any] = {}
        problems: list[str] = []
        for field in dataclasses.fields(cls):
            name = camel_case(field.name)
            value = values.get(name)
            if value is None:
                continue
            problem = _problem(value, field.metadata["schema"])
            if problem is None:
                chosen[field.name] = tuple(value) if isinstance(value, list) else value
            else:
                problems.append(f"{SECTION}.{name} {problem}, so it has its default")
        return cls(**chosen), problems


def camel_case(name: str) -> str:
    """``trace_delay`` as the clients write it: ``traceDelay``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def vscode_properties() -> dict[str, Any]:
    """The settings as ``contributes.configuration.properties`` of a ``package.json``."""
    defaults = Settings()
    return {
        f"{SECTION}.{camel_case(field.name)}": {
            **field.metadata["schema"],
            "default": _as_json(getattr(defaults, field.name)),
            "scope": field.metadata["scope"],
            "markdownDescription": field.metadata["description"],
        }
        for field in dataclasses.fields(Settings)
    }


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_IS_TYPE: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "object": lambda value: isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values()),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
}
_TYPE_NAMES = {
    "array": "an array of strings",
    "object": "an object of strings",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a string",
}


def _problem(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why ``value`` is not what ``schema`` asks for; None when it is."""
    kind = schema["type"]
    if not _IS_TYPE[kind](value):
        return f"must be {_TYPE_NAMES[kind]}"
    if "enum" in schema and value not in schema["enum"]:
        return "must be one of " + ", ".join(schema["enum"])
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"must be more than {schema['exclusiveMinimum']}"
    return None
