"""What is said of tests on older versions of torch and Python is said of tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .versions import expected_to_fail

FILES = {path.name: path.read_text() for path in Path(__file__).parent.rglob("test_*.py")}


@pytest.mark.parametrize("test", sorted(set(expected_to_fail())))
def test_a_test_that_is_expected_to_fail_exists(test: str) -> None:
    file, _, name = test.partition("::")
    function = re.match(r"\w*", name)
    assert function
    assert f"def {function[0]}" in FILES[file]
