"""What a run changes in a model, wherever it does so, is noticed; what can't be noticed is said to be unknown."""

import collections
import dataclasses
import functools
import itertools
import random
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.building.object_state import ChangesUnseenError, ObjectState

COLLECTED: list[Any] = []
COUNT = 0


@dataclasses.dataclass
class Config:
    width: int = 4


class Slotted:
    __slots__ = ("kept", "unset")

    def __init__(self) -> None:
        self.kept = [1]


class Table(dict[str, Any]):
    pass


class Net(nn.Module):
    seen: list[Any] = []

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.layers = nn.ModuleList([nn.ReLU()])
        self.register_buffer("table", torch.zeros(3))
        self.config = Config()
        self.slotted = Slotted()
        self.options = types.SimpleNamespace(a=1)
        self.cache = Table(inner=[collections.OrderedDict(a=1)])
        self.queue = collections.deque([1])
        self.names = {"a"}
        self.counts = collections.defaultdict[str, int](int)
        hidden = [0]
        self.closure: Callable[[], Any] = lambda: hidden
        self.partial = functools.partial(max, [1])
        self.method: Any = self.config.__eq__
        self.pair = (1, [2])
        self.number = 10**20

    @functools.lru_cache(maxsize=1)  # noqa: B019
    def computed(self, number: int) -> int:
        return number


def count_up() -> None:
    global COUNT
    COUNT += 1


CHANGES: dict[str, Callable[[Net], object]] = {
    "an attribute": lambda net: setattr(net, "extra", 1),
    "a number": lambda net: setattr(net, "number", 10**20 + 1),
    "no more": lambda net: delattr(net, "number"),
    "the mode": lambda net: net.eval(),
    "a parameter": lambda net: setattr(net.linear, "weight", nn.Parameter(torch.zeros(2, 2))),
    "values": lambda net: net.linear.weight.data.fill_(3),
    "values of a buffer": lambda net: net.get_buffer("table").add_(1),
    "another tensor's data": lambda net: setattr(net.linear.weight, "data", torch.zeros(2, 2)),
    "no gradients": lambda net: net.linear.weight.requires_grad_(False),
    "a gradient": lambda net: net.linear(torch.ones(1, 2)).sum().backward(),
    "an attribute of a tensor": lambda net: setattr(net.linear.weight, "mark", 1),
    "a submodule": lambda net: net.layers.append(nn.ReLU()),
    "a hook": lambda net: net.linear.register_forward_hook(lambda *args: None),
    "another class": lambda net: setattr(net.layers[0], "__class__", nn.GELU),
    "a plain object": lambda net: setattr(net.config, "width", 5),
    "a namespace": lambda net: setattr(net.options, "a", 2),
    "a slot": lambda net: setattr(net.slotted, "unset", 5),
    "a list in a slot": lambda net: net.slotted.kept.append(2),
    "a dictionary's subclass": lambda net: net.cache.update(b=1),
    "deep inside": lambda net: net.cache["inner"][0].update(a=2),
    "the order": lambda net: net.cache["inner"].insert(0, None),
    "a deque": lambda net: net.queue.append(1),
    "a set": lambda net: net.names.add("b"),
    "a counter": lambda net: net.counts["x"],
    "what a function closes over": lambda net: net.closure().append(1),
    "an argument of a partial": lambda net: net.partial.args[0].append(1),
    "the object of a method": lambda net: setattr(net.method.__self__, "width", 6),
    "a list in a tuple": lambda net: net.pair[1].append(1),
    "what a method caches": lambda net: net.computed(1),
    "a variable of the class": lambda net: net.seen.append(1),
    "another one": lambda net: setattr(Net, "latest", net),
    "a list of the module": lambda net: COLLECTED.append(1),
    "a variable of the module": lambda net: count_up(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(change: str) -> None:
    net = Net()
    state = ObjectState(net)
    assert state.holds()
    CHANGES[change](net)
    assert not state.holds()


def test_a_use_without_a_change() -> None:
    net = Net()
    state = ObjectState(net)
    with torch.no_grad():
        net.linear(torch.ones(1, 2))
    net.cache.get("a"), net.config == Config(), net.closure(), list(net.modules()), net.state_dict()
    assert state.holds()


@pytest.mark.parametrize(
    "unseen",
    [
        itertools.count(),
        (n for n in range(3)),
        iter([1]),
        random.Random(),
        torch.Generator(),
        torch.jit.script(nn.ReLU()),
        nn.LazyLinear(3),
        torch.ones(2).to_sparse(),
        property(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_may_change_unseen(unseen: object) -> None:
    net = Net()
    net.cache["unseen"] = unseen
    with pytest.raises(ChangesUnseenError):
        ObjectState(net)


def test_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    net = Net()
    net.cache["array"] = numpy.zeros(3)
    net.cache["number"] = numpy.float32(3)
    state = ObjectState(net)
    assert state.holds()
    net.cache["array"][1] = 2
    assert not state.holds()
    net.cache["array"] = numpy.array([[]], dtype=object)
    with pytest.raises(ChangesUnseenError):
        ObjectState(net)
