import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.settings.settings import Settings, camel_case, vscode_properties
from fx_lsp.settings.settings_pages import files, schema


def test_nothing_sent_means_defaults() -> None:
    assert Settings.read(None) == (Settings(), [])
    assert Settings.read({}) == (Settings(), [])


def test_values_are_read_by_their_names_in_camel_case() -> None:
    settings, problems = Settings.read(
        {
            "interpreter": ["/usr/bin/python3", "-E"],
            "timeLimit": 2.5,
            "traceDelay": 0,
            "env": {"A": "b"},
            "hover": False,
        }
    )
    assert problems == []
    assert settings == Settings(
        interpreter=("/usr/bin/python3", "-E"), time_limit=2.5, trace_delay=0, env={"A": "b"}, hover=False
    )


def test_names_that_are_not_settings_are_ignored() -> None:
    assert Settings.read({"server": {"python": ["python3"]}, "hover": None}) == (Settings(), [])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("interpreter", "python", "must be an array of strings"),
        ("interpreter", [1], "must be an array of strings"),
        ("env", {"A": 1}, "must be an object of strings"),
        ("traceDelay", -1, "must be at least 0"),
        ("traceDelay", True, "must be a whole number"),
        ("timeLimit", 0, "must be more than 0"),
        ("timeLimit", "10", "must be a number"),
        ("memoryLimit", 1.5, "must be a whole number"),
        ("hover", 1, "must be true or false"),
        ("logLevel", "loud", "must be one of error, warning, info, debug"),
        ("ignore", ["len", "lenn"], "contains 'lenn', which must be one of "),
        ("notices", ["none"], "contains 'none', which must be one of "),
        ("severity", {"len": "grave"}, "contains 'grave', which must be one of error, warning, information, hint"),
        ("severity", {"lenn": "error"}, "contains 'lenn', which must be one of "),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_has_its_default(name: str, value: Any, expected: str) -> None:
    settings, problems = Settings.read({name: value, "exclude": ["a"]})
    assert settings == Settings(exclude=("a",))
    (problem,) = problems
    assert problem.startswith(f"fxLsp.{name} {expected}")
    assert problem.endswith(", so fx-lsp uses its default")


def test_a_value_that_is_not_an_object_is_one_problem() -> None:
    settings, problems = Settings.read([1])
    assert settings == Settings()
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("../models/**", "/w/models/net.py", True),
        ("../models/**", "/w/a/models/net.py", False),
        ("./models/**", "/w/a/models/net.py", True),
        ("models/../other", "/w/a/other/net.py", True),
        ("/w/b/../models", "/w/models/net.py", True),
    ],
)
def test_patterns_may_lead_out_of_the_folder(pattern: str, path: str, expected: bool) -> None:
    assert Settings(include=(pattern,)).anchored("/w/a").includes(path) == expected
    assert Settings(exclude=(pattern,)).anchored("/w/a").includes(path) != expected


def test_vs_codes_properties_are_json_and_their_defaults_are_valid() -> None:
    properties = json.loads(json.dumps(vscode_properties()))
    assert set(properties) == {f"fxLsp.{camel_case(field.name)}" for field in dataclasses.fields(Settings)}
    defaults = {name.removeprefix("fxLsp."): item["default"] for name, item in properties.items()}
    assert Settings.read(defaults) == (Settings(), [])
    assert all(item["markdownDescription"].endswith(".") for item in properties.values())


def test_the_page_and_the_schema_are_up_to_date() -> None:
    docs = Path(__file__).parents[2] / "docs"
    stale = [name for name, text in files().items() if (docs / name).read_text(encoding="utf-8") != text]
    assert stale == [], "python -m fx_lsp.settings.settings_pages docs"


def test_the_schema_has_exactly_the_settings_of_projects() -> None:
    names = schema()["properties"]
    assert {"interpreter", "time-limit", "leaf-modules", "severity"} <= names.keys()
    assert not {"hover", "env", "log-level"} & names.keys()
