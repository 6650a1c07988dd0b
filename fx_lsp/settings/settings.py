"""All settings: their names, types, defaults and descriptions.

An editor sends them in camel case, under ``fxLsp`` in ``workspace/configuration`` or at the top of its
``initializationOptions``; ``package.json`` of the VS Code extension takes them from :func:`vscode_properties`. A
project's ``pyproject.toml`` spells them with hyphens, in the table ``[tool.fx-lsp]``
(``fx_lsp/settings/pyproject.py``).
"""

from __future__ import annotations

import dataclasses
import glob
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, get_args

from fx_lsp.agent.messages import Capture, Limits
from fx_lsp.rules import Severity, all_rules
from fx_lsp.settings.file_patterns import matches
from fx_lsp.settings.rule_selection import ALL_NOTICES, Selection

AUTO = "auto"
"""The item of the setting ``captures`` that stands for the captures that the workspace uses on each class."""

SECTION = "fxLsp"
"""The section of ``workspace/configuration`` that holds the settings."""


def _setting(
    default: Any,
    description: str,
    schema: Mapping[str, Any],
    *,
    scope: str = "",
    project: bool = True,
    has_codes: bool = False,
) -> Any:
    """A dataclass field whose metadata is used to generate ``package.json`` and the schema of ``pyproject.toml``.

    ``scope`` is the setting's scope in VS Code. The default is ``resource`` (each folder may have its own value) if
    ``project`` is true, and ``window`` (one value for the whole window) otherwise.
    ``project``: a ``pyproject.toml`` may set the value; otherwise only the editor may.
    ``has_codes``: the items of the value if it is an array, or its names if it is an object, are codes of rules.
    """
    scope = scope or ("resource" if project else "window")
    about = {"description": description, "schema": schema, "scope": scope, "project": project, "has_codes": has_codes}
    return dataclasses.field(default_factory=lambda: default, metadata=about)


_STRINGS = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True)
class Settings:
    """What a user can choose. A setting's name is the field's name in camel case or, in projects, with hyphens."""

    interpreter: tuple[str, ...] = _setting(
        (),
        "The Python that traces your models, as a command and its arguments. Choose the Python that runs your "
        "project, with PyTorch installed. `~`, `${workspaceFolder}` and `${env:NAME}` are expanded. If empty, fx-lsp "
        "uses the interpreter that is selected in the editor. If none is selected, fx-lsp uses the first environment "
        "with PyTorch among those of the nearest folder that has one, the activated one, and those on the PATH; "
        "`fx-lsp which` prints the choice and the reasons.",
        _STRINGS,
        scope="machine-overridable",
    )
    env: Mapping[str, str] = _setting(
        {},
        "Environment variables to set for the Python that traces your models.",
        {"type": "object", "additionalProperties": {"type": "string"}},
        scope="machine-overridable",
        project=False,
    )
    trace: str = _setting(
        "onType",
        "When to trace a file: `onType` traces it when you open it and while you type, `onSave` only when you save it, "
        "and `manual` only when you run the command `fx-lsp: Trace This File`. Until then, the earlier results stay "
        "with their text.",
        {"type": "string", "enum": ["onType", "onSave", "manual"]},
        project=False,
    )
    trace_delay: int = _setting(
        80,
        "Milliseconds to wait while you type. fx-lsp traces a change at once unless it follows another change within "
        "this time; in that case, fx-lsp waits until the file has not changed for this long. It waits for at least "
        "half a second while the line that you are typing ends in a space or in a word that occurs nowhere else in "
        "the file, or while other programs keep the processors busy. If 0, it never waits.",
        {"type": "integer", "minimum": 0},
        project=False,
    )
    time_limit: float = _setting(
        10,
        "Time limit in seconds for importing a file. The same limit applies to tracing each of its models. Installed "
        "packages may take six times as long to import, and so may tracing a model for which fx-lsp has to invent "
        "arguments.",
        {"type": "number", "exclusiveMinimum": 0},
    )
    memory_limit: int = _setting(
        4096,
        "Memory in MiB that importing and tracing one file may use, in addition to what an idle interpreter with "
        "PyTorch uses.",
        {"type": "integer", "minimum": 64},
    )
    jobs: int = _setting(
        0,
        "How many models of a file to trace at the same time. If 0, one for each processor.",
        {"type": "integer", "minimum": 0},
    )
    include: tuple[str, ...] = _setting(
        (),
        "Glob patterns of the files to trace, relative to the folder that contains `pyproject.toml` or to the "
        "workspace folder, e.g. `models/**`. If empty, fx-lsp traces all files.",
        _STRINGS,
    )
    exclude: tuple[str, ...] = _setting(
        (),
        "Glob patterns of the files that are never traced, relative to the folder that contains `pyproject.toml` or "
        "to the workspace folder, e.g. `scripts/**`.",
        _STRINGS,
    )
    select: tuple[str, ...] = _setting(
        (),
        "Codes of the rules to report. If empty, fx-lsp reports every rule that is on by default.",
        _STRINGS,
        has_codes=True,
    )
    ignore: tuple[str, ...] = _setting((), "Codes of the rules that are never reported.", _STRINGS, has_codes=True)
    notices: tuple[str, ...] = _setting(
        (),
        "Codes of notices to report in addition to those that are on by default, e.g. `training-flag`; `all` reports "
        "every notice. A notice concerns a model that can be traced but whose graph does not do everything that the "
        "model does.",
        _STRINGS,
        has_codes=True,
    )
    severity: Mapping[str, Severity] = _setting(
        {},
        "The severity of the problems that each rule reports, keyed by the rule's code, e.g. "
        '`{ "grad-mode": "error" }`, or in `pyproject.toml` `{ grad-mode = "error" }`.',
        {"type": "object", "additionalProperties": {"type": "string", "enum": list(get_args(Severity))}},
        has_codes=True,
    )
    leaf_modules: tuple[str, ...] = _setting(
        (),
        "Dotted names of module classes whose calls are recorded as one node instead of being traced into, e.g. "
        "`my_package.layers.Attention`. If your code specifies a tracer, that tracer decides instead.",
        _STRINGS,
    )
    autowrap: tuple[str, ...] = _setting(
        (),
        "Dotted names of functions whose calls are recorded as one node in every traced model, as with "
        "`torch.fx.wrap`, e.g. `my_package.ops.gather`.",
        _STRINGS,
    )
    tracer: str = _setting(
        "",
        "Dotted name of a tracer, or of its class, to use if your code does not specify one, e.g. "
        "`my_package.tracing.ModelTracer`.",
        {"type": "string"},
    )
    captures: tuple[str, ...] = _setting(
        (AUTO,),
        "Which captures to check in the editor: `fx` (symbolic tracing), `export` (`torch.export`), `compile` "
        "(`torch.compile` without graph breaks). With `auto`, fx-lsp checks each class with the captures that your "
        "code uses on it or on something that contains it, and with `fx` if it uses none. Problems with other "
        "captures are not shown. For `fx-lsp check`, use `--capture`.",
        {"type": "array", "items": {"type": "string", "enum": [AUTO, *get_args(Capture)]}},
    )
    hover: bool = _setting(
        True,
        "Show the generated `forward` of a model when you hover over its name.",
        {"type": "boolean"},
        project=False,
    )
    code_lens: bool = _setting(
        True,
        "Show a code lens above each model that says whether the model can be traced.",
        {"type": "boolean"},
        project=False,
    )
    shapes: str = _setting(
        "always",
        "Where to show the shapes of the values that a `forward` computes: `always` shows them as inlay hints and on "
        "hover, `hover` only on hover, and `off` nowhere. The shapes are for one example input, which the hover names.",
        {"type": "string", "enum": ["off", "hover", "always"]},
        project=False,
    )
    costs: str = _setting(
        "always",
        "Where to show what a model costs in floating-point operations and memory: `always` shows the operations in "
        "the code lens and everything on hover, `hover` shows it only on hover, and `off` nowhere. fx-lsp counts when "
        "there is nothing else to do, for the example input that the shapes are for.",
        {"type": "string", "enum": ["off", "hover", "always"]},
        project=False,
    )
    cache: bool = _setting(
        True,
        "Keep tracing results on disk, so that a file need not be traced again when you reopen it.",
        {"type": "boolean"},
        project=False,
    )
    log_level: str = _setting(
        "info",
        "How much the server writes to its log.",
        {"type": "string", "enum": ["error", "warning", "info", "debug"]},
        project=False,
    )

    @classmethod
    def read(cls, values: Any) -> tuple[Settings, list[str]]:
        """Settings from what a client sent, and one sentence for each value that cannot be used.

        A setting that is missing or None, of the wrong type or out of bounds keeps its default.
        Names that are not settings are ignored, because clients keep settings of their own in the same section.
        """
        if not isinstance(values, Mapping):
            return cls(), [] if values is None else [
                f"{SECTION} is not an object, so fx-lsp uses the default of every setting"
            ]
        fields = {camel_case(field.name): field for field in dataclasses.fields(cls)}
        chosen, problems = usable({name: values[name] for name in fields if values.get(name) is not None}, fields)
        return cls(**chosen), [f"{SECTION}.{name} {problem}, so fx-lsp uses its default" for name, problem in problems]

    @property
    def limits(self) -> Limits:
        """The limits of one trace."""
        return Limits(float(self.time_limit), self.memory_limit, self.jobs)

    @property
    def selection(self) -> Selection:
        """Which rules to report, and with which severity."""
        return Selection(self.notices, self.select, self.ignore, self.severity)

    def anchored(self, folder: str) -> Settings:
        """The same settings with absolute patterns without ``..``; relative ones are resolved against ``folder``."""
        at = glob.escape(folder)
        include, exclude = (
            tuple(os.path.normpath(PurePath(at, pattern)) for pattern in patterns if PurePath(pattern).parts)
            for patterns in (self.include, self.exclude)
        )
        return dataclasses.replace(self, include=include, exclude=exclude)

    def includes(self, path: str) -> bool:
        """Whether the file at an absolute ``path`` may be traced; the patterns must also be absolute."""
        is_wanted = not self.include or any(matches(PurePath(path), pattern) for pattern in self.include)
        return is_wanted and not any(matches(PurePath(path), pattern) for pattern in self.exclude)


def camel_case(name: str) -> str:
    """A field's name as clients write it, e.g. ``traceDelay`` for ``trace_delay``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def schema_of(field: dataclasses.Field[Any]) -> Mapping[str, Any]:
    """The JSON schema of a setting's values."""
    schema: Mapping[str, Any] = field.metadata["schema"]
    if not field.metadata["has_codes"]:
        return schema
    part = "items" if schema["type"] == "array" else "propertyNames"
    codes = [*(rule.code for rule in all_rules()), *([ALL_NOTICES] if field.name == "notices" else [])]
    return {**schema, part: {**schema.get(part, {}), "enum": codes}}


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
    """A setting's value as it is written in JSON and TOML."""
    return list(value) if isinstance(value, tuple) else value


Fields = Mapping[str, dataclasses.Field[Any]]
"""The fields of `Settings`, by the setting names that an editor or a ``pyproject.toml`` uses."""


def usable(values: Mapping[str, Any], fields: Fields) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The usable values by field name; and for each unusable value the setting's name and what is wrong with it."""
    chosen: dict[str, Any] = {}
    problems = []
    for name, value in values.items():
        if name not in fields:
            problems.append((name, f"is not a setting; the settings are {', '.join(f'`{known}`' for known in fields)}"))
        elif problem := _problem_of(value, schema_of(fields[name])):
            problems.append((name, problem))
        else:
            chosen[fields[name].name] = tuple(value) if isinstance(value, list) else value
    return chosen, problems


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "array": ("an array of strings", lambda value: isinstance(value, list) and _are_strings(value)),
    "object": ("an object of strings", lambda value: isinstance(value, Mapping) and _are_strings(value.values())),
    "integer": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "number": ("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "string": ("a string", lambda value: isinstance(value, str)),
}
"""For each type in JSON Schema: its description, and a function that checks a value."""


def _are_strings(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _problem_of(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why a setting does not accept ``value``, phrased to follow the setting's name; None if it does."""
    described, is_of_type = _TYPES[schema["type"]]
    if not is_of_type(value):
        return f"must be {described}"
    parts: list[tuple[Any, Mapping[str, Any]]] = []
    if isinstance(value, list):
        parts += ((item, schema["items"]) for item in value)
    elif isinstance(value, Mapping):
        parts += ((name, schema.get("propertyNames", {})) for name in value)
        parts += ((item, schema["additionalProperties"]) for item in value.values())
    wrong = (f"contains {part!r}, which {problem}" for part, of in parts if (problem := _out_of_bounds(part, of)))
    return next(wrong, None) or _out_of_bounds(value, schema)


def _out_of_bounds(value: Any, schema: Mapping[str, Any]) -> str | None:
    if "enum" in schema and value not in schema["enum"]:
        return "must be one of " + ", ".join(schema["enum"])
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"must be more than {schema['exclusiveMinimum']}"
    return None
