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
        "target: a.class.B",
        "target: a.B\nparams: {class: 1}",
        "width: 8",
        "target: a.B\n" + "#" * LONGEST,
    ],
)
def test_what_is_no_call_is_left_out(text: str) -> None:
    assert described(text) == []


def test_a_key_that_is_no_text_is_passed_over() -> None:
    assert described("? [a, b]\n: 1\nmodel: {target: a.B}\n") == [(3, "from a import B; B()")]


@pytest.mark.parametrize("call", ["target: a.B\nparams: {x: *x9}", "_target_: a.B\nx: *x9", "_target_: a.B\nx: [*x9]"])
def test_aliases_that_would_grow_without_end_are_left_out(call: str) -> None:
    lists = "".join(f"x{at}: &x{at} [{', '.join([f'*x{at - 1}'] * 10)}]\n" for at in range(1, 10))
    assert described(f"x0: &x0 [1]\n{lists}model:\n  {call.replace(chr(10), chr(10) + '  ')}\n") == []
