"""Invented values can be copied and stored like the values that they stand for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from fx_lsp.agent.inventing.invented_values import InventedFloat, InventedInt, InventedList, InventedText, probe


def invented(kind: Any, value: Any, **more: Any) -> Any:
    made = probe(kind, value, "config.width")
    vars(made).update(more)
    return made


def made() -> dict[str, Any]:
    number = invented(InventedInt, 64, tested=set(), compared={})
    return {
        "int": number,
        "float": invented(InventedFloat, 0.5, tested=set()),
        "str": invented(InventedText, "relu", compared={}),
        "list": invented(InventedList, [number, number], make=None, last_iterated=[]),
    }


@pytest.mark.parametrize("kind", made())
def test_a_stored_value_is_one_of_pythons_own(kind: str) -> None:
    value = made()[kind]
    loaded = pickle.loads(pickle.dumps(value))
    assert loaded == value
    assert type(loaded).__name__ == kind
    assert {type(item) for item in (loaded if isinstance(loaded, list) else [])} <= {int}


@pytest.mark.parametrize("kind", made())
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_knows_its_path(kind: str, copied: Any) -> None:
    value = made()[kind]
    another = copied(value)
    assert another == value
    assert type(another) is type(value)
    assert another.path == "config.width"


def test_a_copy_of_a_list_has_items_of_its_own() -> None:
    value = made()["list"]
    copy.deepcopy(value).append(1)
    assert len(value) == 2
