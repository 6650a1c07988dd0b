"""The settings for readers and for editors: ``python -m fx_lsp.settings_pages docs`` writes both.

``settings.md`` lists them; ``settings.schema.json`` is the JSON Schema of ``[tool.fx-lsp]`` in a ``pyproject.toml``.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from fx_lsp.config import SECTION, Settings, as_json, camel_case, schema_of
from fx_lsp.project import project_names

_INTRODUCTION = f"""\
# Settings

An editor sends them under `{SECTION}`, and a project has them in the table `[tool.fx-lsp]` of its `pyproject.toml`, for
everyone who works on it and for `fx-lsp check`:

```toml
[tool.fx-lsp]
exclude = ["scripts/**"]
time-limit = 20
leaf-modules = ["my_package.layers.Attention"]

[tool.fx-lsp.severity]
grad-mode = "error"
```

The nearest `pyproject.toml` above a file that has the table counts, so folders of one workspace can differ. What the
command line says goes before what an editor says, and that before what the project says; an editor's setting that is as
by default says nothing. Editors that keep settings by folder are asked for each folder's. A setting that can't be used
is an error at its line. [The schema](settings.schema.json) is for editors of TOML.

| setting | in `pyproject.toml` | default | |
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
        for name, field in project_names().items()
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The table [tool.fx-lsp] of a pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def page() -> str:
    """The list of all settings, in Markdown."""
    return _INTRODUCTION + "".join(map(_row, dataclasses.fields(Settings)))


def _row(field: dataclasses.Field[Any]) -> str:
    project = f"`{field.name.replace('_', '-')}`" if field.metadata["project"] else ""
    default = json.dumps(as_json(getattr(Settings(), field.name)))
    return f"| `{SECTION}.{camel_case(field.name)}` | {project} | `{default}` | {field.metadata['description']} |\n"


def files() -> dict[str, str]:
    """File name -> text."""
    return {"settings.md": page(), "settings.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}


if __name__ == "__main__":
    for name, text in files().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
