"""Generates the settings' documentation and JSON Schema: ``python -m fx_lsp.settings.settings_pages docs``.

``settings.md`` lists the settings; ``settings.schema.json`` is the JSON Schema of ``[tool.fx-lsp]`` in a
``pyproject.toml``.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from fx_lsp.settings.pyproject import project_fields
from fx_lsp.settings.settings import SECTION, Settings, as_json, camel_case, schema_of

_INTRODUCTION = f"""\
# Settings

In an editor, the names of the settings begin with `{SECTION}`. A project has its settings in the table `[tool.fx-lsp]`
of its `pyproject.toml`; they apply to everyone who works on the project and to `fx-lsp check`:

```toml
[tool.fx-lsp]
exclude = ["scripts/**"]
time-limit = 20
leaf-modules = ["my_package.layers.Attention"]

[tool.fx-lsp.severity]
grad-mode = "error"
```

For each file, fx-lsp reads the nearest `pyproject.toml` in the file's folder or above it that has this table, so the
folders of one workspace can have different settings. The command line overrides the editor, and the editor overrides
the project; an editor setting that is left at its default does not override the project. If an editor has separate
settings for each folder, fx-lsp uses those of the file's folder. If `pyproject.toml` has a setting that fx-lsp cannot
use, fx-lsp reports an error on that line. Editors of TOML files can check and complete the settings with
[this schema](settings.schema.json).

| setting | in `pyproject.toml` | default | description |
|---|---|---|---|
"""


def schema() -> dict[str, Any]:
    """The JSON Schema of the table ``[tool.fx-lsp]``."""
    defaults = Settings()
    properties = {
        name: {
            **schema_of(field),
            "default": as_json(getattr(defaults, field.name)),
            "description": field.metadata["description"],
        }
        for name, field in project_fields().items()
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The table [tool.fx-lsp] of a pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _row(field: dataclasses.Field[Any]) -> str:
    project = f"`{field.name.replace('_', '-')}`" if field.metadata["project"] else "(only in editors)"
    default = json.dumps(as_json(getattr(Settings(), field.name)))
    return f"| `{SECTION}.{camel_case(field.name)}` | {project} | `{default}` | {field.metadata['description']} |\n"


def files() -> dict[str, str]:
    """The texts of both files, by file name."""
    return {
        "settings.md": _INTRODUCTION + "".join(map(_row, dataclasses.fields(Settings))),
        "settings.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    for name, text in files().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
