"""The settings: their names, types, defaults and what they mean, in this one place.

An editor sends them in camel case, under ``fxLsp`` in ``workspace/configuration`` or at the top of its
``initializationOptions``; ``package.json`` of the VS Code extension takes them from :func:`vscode_properties`. A
project's ``pyproject.toml`` has them with hyphens, in the table ``[tool.fx-lsp]`` (``fx_lsp/project.py``).
"""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, get_args

from fx_lsp.agent.messages import Limits
from fx_lsp.patterns import matches
from fx_lsp.rules import Severity, all_rules
from fx_lsp.selection import ALL_NOTICES, Selection

SECTION = "fxLsp"
"""The section of ``workspace/configuration`` that holds the settings."""

SHAPES = ("off", "hover", "always")
LOG_LEVELS = ("error", "warning", "info", "debug")

Codes = Literal["items", "keys", "none"]
"""Which part of a setting are codes of rules."""


def _setting(
    default: Any,
    description: str,
    schema: Mapping[str, Any],
    *,
    scope: str = "",
    project: bool = True,
    codes: Codes = "none",
) -> Any:
    """A dataclass field that knows what ``package.json`` and the schema of ``pyproject.toml`` say about it.

    ``scope`` is VS Code's; when empty, a folder may have its own value of what projects may have.
    ``project``: a ``pyproject.toml`` may have it; else it is the editor's alone.
    """
    scope = scope or ("resource" if project else "window")
    about = {"description": description, "schema": dict(schema), "scope": scope, "project": project, "codes": codes}
    if isinstance(default, (tuple, dict)):
        return dataclasses.field(default_factory=lambda: default, metadata=about)
    return dataclasses.field(default=default, metadata=about)


_STRINGS = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True)
class Settings:
    """What a user can choose. A field's name in camel case, or with hyphens, is the setting's name."""

    interpreter: tuple[str, ...] = _setting(
        (),
        "The Python that traces: the one your project runs with, where its PyTorch is installed. The command and its "
        "arguments; `~`, `${workspaceFolder}` and `${env:NAME}` are filled in. When empty: the interpreter that is "
        "selected in the editor, then `$VIRTUAL_ENV`, then `.venv` or `venv` in the workspace folder, then `python` "
        "on the PATH.",
        _STRINGS,
        scope="machine-overridable",
    )
    env: Mapping[str, str] = _setting(
        {},
        "Environment variables to set for the interpreter that traces.",
        {"type": "object", "additionalProperties": {"type": "string"}},
        scope="machine-overridable",
        project=False,
    )
    trace_delay: int = _setting(
        80,
        "A change of a file is traced at once, unless it follows another within so many milliseconds: then, when the "
        "file has not been changed for as long. While a line is typed that ends in a space, or a word that is nowhere "
        "else in the file, that is half a second at least. When 0: at once, always.",
        {"type": "integer", "minimum": 0},
        project=False,
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
    jobs: int = _setting(
        0,
        "How many models of a file are traced at a time. When 0: as many as there are processors.",
        {"type": "integer", "minimum": 0},
    )
    include: tuple[str, ...] = _setting(
        (),
        "The only files that are traced: glob patterns, relative to the folder of the `pyproject.toml` or of the "
        "workspace, e.g. `models/**`. When empty: all.",
        _STRINGS,
    )
    exclude: tuple[str, ...] = _setting(
        (),
        "Files that are never traced: glob patterns, relative to the folder of the `pyproject.toml` or of the "
        "workspace, e.g. `scripts/**`.",
        _STRINGS,
    )
    select: tuple[str, ...] = _setting((), "Codes of the only rules to show. When empty: all.", _STRINGS, codes="items")
    ignore: tuple[str, ...] = _setting((), "Codes of rules that are not shown.", _STRINGS, codes="items")
    notices: tuple[str, ...] = _setting(
        (),
        "Codes of the notices to show that are off by default, e.g. `training-flag`; `all` for all of them. A notice "
        "is about a model that traces, but whose graph does not do all that the model does.",
        _STRINGS,
        codes="items",
    )
    severity: Mapping[str, Severity] = _setting(
        {},
        'How serious the problems of a rule are, by its code, e.g. `{ grad-mode = "error" }`.',
        {"type": "object", "additionalProperties": {"type": "string", "enum": list(get_args(Severity))}},
        codes="keys",
    )
    leaf_modules: tuple[str, ...] = _setting(
        (),
        "Classes of modules that are recorded as one call instead of being traced through, by their dotted names, "
        "e.g. `my_package.layers.Attention`. A tracer that the code itself names keeps its own.",
        _STRINGS,
    )
    autowrap: tuple[str, ...] = _setting(
        (),
        "Functions that are recorded as one call in every traced model, as `torch.fx.wrap` has it, by their dotted "
        "names, e.g. `my_package.ops.gather`.",
        _STRINGS,
    )
    tracer: str = _setting(
        "",
        "The dotted name of the tracer, or of its class, that traces whatever the code itself names none for, e.g. "
        "`my_package.tracing.ModelTracer`.",
        {"type": "string"},
    )
    hover: bool = _setting(
        True,
        "Show the generated `forward` of a model when the pointer rests on its name.",
        {"type": "boolean"},
        project=False,
    )
    code_lens: bool = _setting(
        True,
        "Show above each model whether it can be traced.",
        {"type": "boolean"},
        project=False,
    )
    shapes: str = _setting(
        "always",
        "Where to show the shapes of what a `forward` computes: `always` in its text, as inlay hints, and on hover; "
        "only on `hover`; or never, with `off`. They hold for one input, which the hover names.",
        {"type": "string", "enum": list(SHAPES)},
        project=False,
    )
    cache: bool = _setting(
        True,
        "Keep what tracing brought on disk, so that a file that is opened again need not be traced again.",
        {"type": "boolean"},
        project=False,
    )
    log_level: str = _setting(
        "info",
        "How much the server writes to its log.",
        {"type": "string", "enum": list(LOG_LEVELS)},
        project=False,
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
            problem = problem_of(value, field)
            if problem is None:
                chosen[field.name] = tuple(value) if isinstance(value, list) else value
            else:
                problems.append(f"{SECTION}.{name} {problem}, so it has its default")
        return cls(**chosen), problems

    @property
    def limits(self) -> Limits:
        """What one trace may use."""
        return Limits(float(self.time_limit), self.memory_limit, self.jobs)

    @property
    def selection(self) -> Selection:
        """What is to be heard of, and how seriously."""
        return Selection(self.notices, self.select, self.ignore, self.severity)

    def said(self) -> dict[str, Any]:
        """The settings that are not as they are by default; by field."""
        default = Settings()
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value != getattr(default, name)}

    def over(self, others: Settings) -> Settings:
        """``others``, but for what these settings say themselves."""
        return dataclasses.replace(others, **self.said())

    def anchored(self, folder: str) -> Settings:
        """The same with absolute patterns, where they are relative to ``folder``."""
        return dataclasses.replace(
            self, include=_anchored(self.include, folder), exclude=_anchored(self.exclude, folder)
        )

    def includes(self, path: str) -> bool:
        """Whether the file at an absolute ``path`` may be traced; the patterns have to be absolute, too."""
        is_wanted = not self.include or any(matches(PurePath(path), pattern) for pattern in self.include)
        return is_wanted and not any(matches(PurePath(path), pattern) for pattern in self.exclude)


def _anchored(patterns: Iterable[str], folder: str) -> tuple[str, ...]:
    """``patterns`` behind ``folder``; an empty one means nothing."""
    return tuple(str(PurePath(glob.escape(folder), item)) for item in patterns if PurePath(item).parts)


def camel_case(name: str) -> str:
    """``trace_delay`` as the clients write it: ``traceDelay``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def schema_of(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """The JSON schema of a setting's values."""
    schema = dict(field.metadata["schema"])
    codes = [rule.code for rule in all_rules()]
    if field.metadata["codes"] == "items":
        also = [ALL_NOTICES] if field.name == "notices" else []
        schema["items"] = {**schema["items"], "enum": [*codes, *also]}
    elif field.metadata["codes"] == "keys":
        schema["propertyNames"] = {"enum": codes}
    return schema


def vscode_properties() -> dict[str, Any]:
    """The settings as ``contributes.configuration.properties`` of a ``package.json``."""
    defaults = Settings()
    return {
        f"{SECTION}.{camel_case(field.name)}": {
            **schema_of(field),
            "default": as_json(getattr(defaults, field.name)),
            "scope": field.metadata["scope"],
            "markdownDescription": field.metadata["description"],
        }
        for field in dataclasses.fields(Settings)
    }


def as_json(value: Any) -> Any:
    """A setting's value as JSON and TOML have it."""
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


def problem_of(value: Any, field: dataclasses.Field[Any]) -> str | None:
    """Why ``value`` is not what the setting takes, to follow its name; None when it is."""
    kind = field.metadata["schema"]["type"]
    if not _IS_TYPE[kind](value):
        return f"must be {_TYPE_NAMES[kind]}"
    schema = schema_of(field)
    if kind == "array":
        return _problem_among(value, schema["items"])
    if kind == "object":
        names = _problem_among(list(value), schema.get("propertyNames", {}))
        return names or _problem_among(list(value.values()), schema["additionalProperties"])
    return _problem_of_one(value, schema)


def _problem_among(values: Sequence[Any], schema: Mapping[str, Any]) -> str | None:
    problems = (f"has {value!r}, which {problem}" for value in values if (problem := _problem_of_one(value, schema)))
    return next(problems, None)


def _problem_of_one(value: Any, schema: Mapping[str, Any]) -> str | None:
    if "enum" in schema and value not in schema["enum"]:
        return "must be one of " + ", ".join(schema["enum"])
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"must be more than {schema['exclusiveMinimum']}"
    return None
