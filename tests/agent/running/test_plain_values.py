"""What of a value is compared."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import threading
from collections import OrderedDict
from typing import Any

import numpy
import pytest
import torch

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_modules import MissingCall
from fx_lsp.agent.running.plain_values import NotComparable, Tree, as_in_graph, tensors_of, to_plain
from tests.ids import same_everywhere


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class Slots:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class More(Slots):
    """Hides the slot that it inherits."""

    __slots__ = ("__dict__", "value")

    def __init__(self, value: Any, other: Any) -> None:
        vars(Slots)["value"].__set__(self, value)
        vars(More)["value"].__set__(self, other)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Options(dict[str, Any]):
    pass


def options(values: dict[str, Any], **attributes: Any) -> Options:
    made = Options(values)
    vars(made).update(attributes)
    return made


def cycle(value: Any) -> Plain:
    first = Plain(value)
    first.value = [value, first]
    return first


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plain([1, (2.5, None), {"a": torch.float32}]),
        lambda: Slots(Plain("text")),
        lambda: cycle(3),
        lambda: More(1, 2),
        lambda: Color.RED,
        lambda: options({"a": 1}, b=2),
        lambda: slice(1, 2, None),
        lambda: Plain,
    ],
    ids=["object", "slots", "cycle", "a slot of each class", "enum", "attributes of a dict", "slice", "class"],
)
def test_equal_values_have_equal_plain_values(make: Any) -> None:
    assert to_plain(make()) == to_plain(make())


SHARED: list[int] = []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Plain(1), Plain(2)),
        (Plain(1), Slots(1)),
        (Slots(1), Slots(2)),
        (Slots(1), Slots.__new__(Slots)),
        (More(1, 3), More(2, 3)),
        (More(1, 3), More(1, 2)),
        (Color.RED, Color.BLUE),
        (options({"a": 1}, b=2), options({"a": 1}, b=3)),
        (options({"a": 1}), {"a": 1}),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        ([SHARED, SHARED], [[], []]),
        (cycle(1), Plain([1, Plain([1, None])])),
        (torch.float32, "torch.float32"),
        (Plain, Slots),
    ],
    ids=same_everywhere,
)
def test_different_values_have_different_plain_values(one: Any, other: Any) -> None:
    assert to_plain(one) != to_plain(other)


@pytest.mark.parametrize(
    "value",
    [
        len,
        lambda: 1,
        iter([1]),
        {1},
        threading.Lock(),
        ValueError("a"),
        functools.partial(print),
        range(3),
        bytearray(b"a"),
        numpy.array([{}, None]),
        numpy.array((1, 2), dtype=[("a", int), ("b", object)]),
        numpy.ma.array([1], mask=[True]),
        numpy.longdouble(1),
        numpy.array(["2020"], dtype="datetime64[D]"),
        type("Number", (numpy.float32,), {})(1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_with_hidden_state_cannot_be_compared(value: object) -> None:
    with pytest.raises(NotComparable):
        to_plain(Plain([value]))


@pytest.mark.parametrize("values", [[1, 2, 3], [0.5, math.nan], [True], ["abc", "b"], [1j]], ids=str)
def test_arrays_are_compared_by_their_values_and_dtype(values: list[Any]) -> None:
    array = numpy.array(values)
    known = repr(to_plain(array))
    for same in (array.copy(), array[::-1].copy()[::-1]):
        assert repr(to_plain(same)) == known
    for other in (numpy.array([*values, values[0]]), array.astype("U2"), array[:, None], array.tolist()):
        assert repr(to_plain(other)) != known


def test_each_array_of_text_is_compared() -> None:
    one, other = ([numpy.array(["a"]), numpy.array([text])] for text in "bc")
    assert repr(to_plain(one)) != repr(to_plain(other))
    assert repr(to_plain(numpy.zeros((0, 3), "U2"))) != repr(to_plain(numpy.zeros((0, 5), "U2")))


def test_numbers_of_numpy_are_compared() -> None:
    known = repr(to_plain(numpy.float32(2)))
    assert repr(to_plain(numpy.float32(2))) == known
    for other in (numpy.float32(3), numpy.int64(2), 2.0):
        assert repr(to_plain(other)) != known


def test_a_tensor_is_copied_once() -> None:
    tensor = torch.zeros(2)
    copied = to_plain([tensor, tensor])
    assert copied.values[0] is copied.values[1]
    assert copied.values[0] is not tensor


def test_what_something_missing_returns_is_not_known() -> None:
    missing = StandIn("missing")
    for value in (missing.function(torch.ones(2)), missing.ModelOutput(torch.ones(2))):
        with pytest.raises(MissingCall):
            to_plain({"values": [value]})


def test_a_class_that_a_call_makes_anew_cannot_be_compared() -> None:
    class Local:
        number = 1

    for value in (Local, Local()):
        with pytest.raises(NotComparable, match="Local"):
            to_plain([value])


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any


def test_all_tensors_are_found() -> None:
    tensors = [torch.full((), float(value)) for value in range(5)]
    value = Pair(
        [tensors[0], Slots(tensors[1])], {"a": (tensors[2], cycle(tensors[3])), "b": options({"c": tensors[4]})}
    )
    for seen in (value, to_plain(value)):
        assert [int(tensor) for tensor in tensors_of([seen])] == [0, 1, 2, 3, 4]


def test_a_graph_returns_a_dict_for_each_mapping() -> None:
    seen = to_plain(Plain([options({"a": Options(b=1)}, c=2), Options()]))
    plain = to_plain(Plain([{"a": {"b": 1}}, {}]))
    assert seen != plain
    assert as_in_graph(seen) == as_in_graph(plain)
    assert as_in_graph(plain) == plain
    assert isinstance(plain, Tree)
