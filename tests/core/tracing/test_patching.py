"""What a trace hears of modules, however their methods are defined, reached and replaced; the oracle is torch.fx."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from torch import Tensor, nn

import fxcore
from fxcore.failures import TraceFailure
from tests.core.oracle import assert_same_graph

LIBRARIES: list[Any] = [fxcore, torch.fx]
METHODS = ("__call__", "__getattr__")
KEPT_CALL = nn.Module.__call__


class Net(nn.Module):
    """Passes what ``use(self, x)`` returns on to another layer; ``module`` is for ``use``."""

    def __init__(self, module: nn.Module, use: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.module = module
        self.last = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.use(self, x) * self.scale)
        return result


class Twice(nn.Linear):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs) * 2


class Unheard(nn.Linear):
    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x) * 3


class Asking(nn.Module):
    """Has attributes of its own beside the module's."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("alias_of_"):
            return getattr(self, name.removeprefix("alias_of_"))
        return super().__getattr__(name)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = x * self.alias_of_weight + self.weight
        return result


def compiled() -> nn.Module:
    module = nn.Linear(4, 4)
    module.compile(backend="eager")
    return module


def compiled_inside() -> nn.Module:
    return nn.Sequential(compiled(), nn.ReLU(), compiled())


def through_the_class(net: Any, x: Tensor) -> Any:
    return nn.Module.__call__(net.module, x)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: nn.Linear(4, 4),
    "compiled": compiled,
    "compiled inside": compiled_inside,
    "its __call__ calls the base's": lambda: Twice(4, 4),
    "its __call__ doesn't": lambda: Unheard(4, 4),
    "has a __getattr__": Asking,
}

USES: dict[str, Callable[[Any, Tensor], Any]] = {
    "called": lambda net, x: net.module(x),
    "called twice": lambda net, x: net.module(net.module(x)),
    "by the class": through_the_class,
    "its forward": lambda net, x: net.module.forward(x),
    "its _call_impl": lambda net, x: net.module._call_impl(x),
    "its bound method": lambda net, x: net.module.__call__(x),
    "by getattr": lambda net, x: getattr(net, "module")(x),  # noqa: B009
    "asked for what it lacks": lambda net, x: net.module(x) if hasattr(net, "other") else x + 1,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("module", MODULES)
def test_a_trace_hears_what_torch_fx_hears(module: str, use: str) -> None:
    net = Net(MODULES[module](), USES[use])
    assert_same_graph(*(library.symbolic_trace(net) for library in LIBRARIES))


class Aliased(nn.Linear):
    __call__ = nn.Module.__call__


Aliased.__module__ = "torch.nn.aliased"  # a leaf


@pytest.mark.parametrize(
    ("module", "use"),
    [
        (nn.Linear, lambda net, x: net.module._wrapped_call_impl(x)),
        (nn.Linear, lambda net, x: KEPT_CALL(net.module, x)),
        (Aliased, lambda net, x: net.module(x)),
    ],
    ids=["by its other name", "kept since before the trace", "taken over by a subclass"],
)
def test_a_call_is_heard_by_whatever_name_it_is_made(
    module: type[nn.Linear], use: Callable[[Any, Tensor], Any]
) -> None:
    net = Net(module(4, 4), use)
    ours, theirs = ([node.target for node in library.symbolic_trace(net).graph.nodes] for library in LIBRARIES)
    assert "module" in ours
    assert "module" not in theirs


class Calling(nn.Module):
    """A module that traces another one in the middle of its forward."""

    def __init__(self, library: Any, codes: list[str]) -> None:
        super().__init__()
        self.inner = Net(nn.ReLU(), USES["called"])
        self.linear = nn.Linear(4, 4)
        self.library, self.codes = library, codes

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        self.codes.append(self.library.symbolic_trace(self.inner).code)
        result: Tensor = self.linear(y)
        return result


@pytest.mark.parametrize("outer", LIBRARIES)
@pytest.mark.parametrize("inner", LIBRARIES)
def test_each_of_two_nested_traces_hears_its_own_modules(outer: Any, inner: Any) -> None:
    codes: list[str] = []
    net = Calling(inner, codes)
    code = outer.symbolic_trace(net).code
    assert code.count("self.linear(") == 2
    assert "module" not in code
    assert [("self.module(" in code, "self.last(" in code) for code in codes] == [(True, True)]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """Modules' calls are counted by a function that some other program put in place of the method."""
    original = nn.Module.__call__
    called: list[type] = []

    def counting(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        called.append(type(module))
        return original(module, *args, **kwargs)

    monkeypatch.setattr(nn.Module, "__call__", counting)
    return called


def test_what_others_put_in_place_of_the_method(counted: list[type]) -> None:
    net = Net(nn.ReLU(), USES["called"])
    before = nn.Module.__call__
    assert_same_graph(*(library.symbolic_trace(net) for library in LIBRARIES))
    assert nn.Module.__call__ is before
    assert counted == [], "both trace the module, and not what others do with it"
    net(torch.ones(4))
    assert counted == [Net, nn.ReLU, nn.Linear]


def bodies() -> list[object]:
    return [getattr(vars(nn.Module)[name], "__code__", None) for name in METHODS]


ORIGINAL = bodies()


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_methods_do_what_they_did_after_any_end(error: type[BaseException] | None) -> None:
    methods = [vars(nn.Module)[name] for name in METHODS]
    meanwhile: list[object] = []

    def look(net: Any, x: Tensor) -> Tensor:
        assert [vars(nn.Module)[name] for name in METHODS] == methods
        meanwhile.extend(bodies())
        if error is not None:
            raise error
        return x

    net = Net(nn.ReLU(), look)
    if error is None:
        fxcore.symbolic_trace(net)
    else:
        with pytest.raises(TraceFailure if error is ValueError else error):
            fxcore.symbolic_trace(net)
    assert not set(meanwhile) & set(ORIGINAL)
    assert bodies() == ORIGINAL


def test_the_methods_do_what_they_did_after_threads_ended_in_another_order() -> None:
    both_run, first_ended = threading.Barrier(2), threading.Event()
    codes: dict[str, str] = {}

    def wait(net: Any, x: Tensor) -> Any:
        both_run.wait(timeout=60)
        if threading.current_thread().name == "second":
            assert first_ended.wait(timeout=60)
            assert bodies() != ORIGINAL
        return net.module(x)

    def run() -> None:
        name = threading.current_thread().name
        codes[name] = fxcore.symbolic_trace(Net(nn.ReLU(), wait)).code
        if name == "first":
            first_ended.set()

    threads = [threading.Thread(target=run, name=name) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert set(codes) == {"first", "second"}
    assert len(set(codes.values())) == 1
    assert "self.module(" in codes["first"]
    assert bodies() == ORIGINAL


def test_the_methods_look_as_they_do() -> None:
    def signatures() -> list[str]:
        return [str(inspect.signature(module)) for module in (nn.ReLU(), nn.Linear(4, 4))]

    meanwhile: list[str] = []

    def look(net: Any, x: Tensor) -> Tensor:
        meanwhile.extend(signatures())
        return x

    fxcore.symbolic_trace(Net(nn.ReLU(), look))
    assert meanwhile == signatures()
