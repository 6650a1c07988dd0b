"""YAML files that describe calls: what becomes code, where, and what is left out."""

from __future__ import annotations

import pytest

from fx_lsp.targets.yaml_code import LONGEST, code_in_yaml

CONFIGURED = """\
model:
  target: pkg.nets.Net
  params:
    width: 8
    rate: 1e-5
    head: {target: pkg.nets.Head, params: {}}
"""

NESTED = """\
trainer: {seed: 3}
model:
  _target_: pkg.nets.Net
  _recursive_: false
  width: 8
  parts:
    - _target_: pkg.parts.Part
      kind: wide
"""


def described(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(code_in_yaml(text).split("\n"), 1) if line]


def test_a_target_with_its_parameters_is_a_call_that_keeps_nested_targets_as_data() -> None:
    head = "head={'target': 'pkg.nets.Head', 'params': {}}"
    assert described(CONFIGURED) == [
        (2, f"from pkg.nets import Net; Net(width=8, rate=1e-05, {head})"),
        (6, "from pkg.nets import Head; Head()"),
    ]


def test_hydras_targets_are_calls_within_each_other() -> None:
    imports = "from pkg.nets import Net; from pkg.parts import Part"
    assert described(NESTED) == [
        (3, f"{imports}; Net(width=8, parts=[Part(kind='wide')])"),
        (7, "from pkg.parts import Part; Part(kind='wide')"),
    ]


def test_the_code_has_as_many_lines_as_the_file() -> None:
    assert code_in_yaml(CONFIGURED).count("\n") == CONFIGURED.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "target: linux",  # no dotted name
        "target: 3",
        "target: a.b; import os",
        "target: a.B\nparams: [1]",
        "target: a.B\nparams: {not a name: 1}",
        "target: a.B\nparams: {day: 2020-01-01}",  # no Python literal
        "target: a.B\nparams: {most: .inf}",
        "target: a.B\nparams: {x: !!python/object:os.system 1}",
        "target: [",  # not valid
        "target: &a\n  target: *a",
        "width: 8",
        "target: a.B\n" + "#" * LONGEST,
    ],
)
def test_what_is_no_call_is_left_out(text: str) -> None:
    assert described(text) == []
