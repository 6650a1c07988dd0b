"""The tracer that goes on where torch.fx fails, with what a real run computes."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, ItemsView, Iterator
from types import CodeType
from typing import Any

import torch
import torch.fx
from torch.fx.proxy import Proxy
from torch.utils import _pytree as pytree

from benchmarks.oracle.places import Place, is_users, place_of_return, raised_place, running_place, shown
from benchmarks.oracle.symbols import Symbol

_MOST_EVENTS = 100_000


class Stuck(BaseException):
    """The run can't go on: a value is asked for that the real run didn't compute."""


class Again(BaseException):
    """The run is to begin anew, knowing more."""


class Oracle(torch.fx.Tracer):
    """Traces a module and knows, for its ``inputs`` (a value for each parameter by name), what a real run computes."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        super().__init__()
        self.inputs = inputs
        self.sites: dict[Place | None, str] = {}
        """For each place that torch.fx fails at, why; in the order in which they are met."""
        self.answers: dict[Place | None, list[str]] = {}
        """For each of these places, what was answered there."""
        self.outputs: Any = None
        """What the traced program computes in the end, where torch.fx can keep it."""
        self.gaps: list[str] = []
        """Where what follows couldn't be looked into."""
        self.values: dict[torch.fx.Node, Any] = {}
        self.lacking: dict[torch.fx.Node, BaseException] = {}
        """Why those that have no value have none."""
        self.events = 0
        self.is_real = False
        self.is_probed = False
        """Whether a C function of torch runs: if it gets no answers it refuses the call, and is answered itself."""
        self.checked: set[CodeType] = set()
        """Functions that raised an error of their own, told that symbols are no tensors (then told otherwise)."""

    def run(self, root: torch.nn.Module, concrete_args: dict[str, Any]) -> None:
        """Fill ``sites`` and ``gaps``."""
        self.gaps = []
        active.append(self)
        try:
            graph = self.trace(root, concrete_args)
            self.outputs = torch.fx.node.map_arg(graph.output_node().args[0], self.of)
        except Again:
            self.run(root, concrete_args)
        except Stuck as stuck:
            self.gaps.append(f"The oracle stopped {stuck}")
        except Exception as error:
            place = raised_place(error)
            self.note(place or place_of_return(root), f"{type(error).__name__}: {error}")
            if place is not None:
                why = f"because of {type(error).__name__}: {error}"
                self.gaps.append(f"The oracle stopped at {shown(place)}, {why}"[:200])
        finally:
            active.pop()

    def note(self, place: Place | None, why: str) -> None:
        """One more failure."""
        self.sites.setdefault(place, why.splitlines()[0][:150])
        self.events += 1
        if self.events > _MOST_EVENTS:
            raise Stuck(f"after {_MOST_EVENTS} failures")

    # Values beside the symbols.

    @contextlib.contextmanager
    def really(self) -> Iterator[None]:
        """What runs in the block isn't traced."""
        before, self.is_real = self.is_real, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.is_real = before

    @contextlib.contextmanager
    def probed(self) -> Iterator[None]:
        """In the block symbols answer nothing."""
        before, self.is_probed = self.is_probed, True
        try:
            yield
        finally:
            self.is_probed = before

    def real(self, value: Any) -> Any:
        """``value`` with each symbol in it replaced by what it is. Raises `Stuck` for one that isn't known."""

        def real(leaf: Any) -> Any:
            if isinstance(leaf, slice):
                return slice(*map(real, (leaf.start, leaf.stop, leaf.step)))
            return self.of(leaf.node) if isinstance(leaf, Proxy) else leaf

        return pytree.tree_map(real, value)

    def of(self, node: torch.fx.Node) -> Any:
        """What a node computes. Raises `Stuck` where that isn't known."""
        if node not in self.values:
            why = f"because the real run did not compute `{node}`"
            raise Stuck(f"at {shown(running_place())}, {why}") from self.lacking.get(node)
        return self.values[node]

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **more: Any) -> torch.fx.Node:
        """Record, and compute."""
        node = super().create_node(kind, target, args, kwargs, *rest, **more)
        if kind != "output" and target is not answered:
            try:
                with self.really():
                    reals, real_kwargs = torch.fx.node.map_arg((args, kwargs), self.of)
                    self.values[node] = self.compute(kind, target, reals, real_kwargs)
            except (Exception, Stuck) as error:
                self.lacking[node] = error
        return node

    def compute(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        """What a node of torch.fx's computes."""
        if kind == "placeholder":
            return self.inputs[target] if target in self.inputs else args[0]
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "call_function":
            return target(*args, **kwargs)
        found: Any = self.root
        for name in target.split("."):
            found = getattr(found, name)
        return found if kind == "get_attr" else found(*args, **kwargs)

    def symbol(self, value: Any) -> Any:
        """A symbol that stands for a value which no node computes."""
        proxy = self.create_proxy("call_function", answered, (), {})
        self.values[proxy.node] = value
        return proxy

    def answer(self, symbol: Any, why: str, ask: Callable[[Any], Any]) -> Any:
        """Note that torch.fx fails here, and tell what the real value says."""
        if self.is_probed:
            raise TypeError(f"{why} of `{symbol.node}`")
        place = running_place()
        self.note(place, why)
        value = self.of(symbol.node)
        with self.really():
            answer = ask(value)
        self.answers.setdefault(place, []).append(said(answer))
        return answer

    def answer_call(self, error: Exception, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The same for a call that symbols made fail: what it returns in the real run."""
        self.note(raised_place(error) or running_place(), f"{type(error).__name__}: {error}")
        args, kwargs = self.real((list(args), kwargs))
        try:
            with self.really():
                value = function(*args, **kwargs)
        except Exception as real_error:
            why = f"because the real run raised {type(real_error).__name__}: {real_error}"
            raise Stuck(f"at {shown(running_place())}, {why}") from error
        return pytree.tree_map(lambda leaf: self.symbol(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)

    def check(self, error: Exception) -> None:
        """Begin anew after an error that the program itself raised, if a check of types may be what it owes it to."""
        codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if is_users(frame.f_code)]
        if codes and codes[-1] not in self.checked:
            self.checked.add(codes[-1])
            raise Again

    # torch.fx's hooks.

    def proxy(self, node: torch.fx.Node) -> Proxy:
        """A symbol whose questions are answered."""
        return Symbol(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        """The real truth."""
        return self.answer(obj, "bool", bool)  # type: ignore[no-any-return]

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """As many symbols as there are items; a mapping's keys are themselves."""

        def items(value: Any) -> list[Any]:
            found = list(value)
            return list(range(len(found))) if isinstance(value, torch.Tensor | tuple | list) else found

        answer = self.answer(obj, "iter", items)
        if isinstance(self.of(obj.node), ItemsView):
            mapping: Any = self.proxy(obj.node.args[0])  # type: ignore[arg-type]
            return iter([(key, mapping[key]) for key, _ in answer])
        indexed = isinstance(self.of(obj.node), torch.Tensor | tuple | list)
        value: Any = obj
        return iter([value[index] for index in answer] if indexed else answer)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """Any path for a module that has none."""
        try:
            return super().path_of_module(mod)
        except NameError as error:
            self.note(running_place(), str(error))
            return type(mod).__name__

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Trace the call; where an error leaves it, what it returns in the real run."""
        if self.is_real:
            return forward(*args, **kwargs)
        if self.is_leaf_module(m, "") and m not in set(self.root.modules()):
            self.path_of_module(m)
            with self.really():
                reals, real_kwargs = self.real((list(args), kwargs))
                value = forward(*reals, **real_kwargs)
            return self.symbol(value)
        stack = self.module_stack.copy()
        try:
            return super().call_module(m, forward, args, kwargs)
        except Exception as error:
            self.module_stack = stack  # torch.fx leaves what the error went through
            self.note(raised_place(error), f"{type(error).__name__}: {error}")
            self.check(error)
            place = shown(raised_place(error))
            self.gaps.append(f"The oracle skipped the rest of a {type(m).__name__} after {place}: {error}"[:200])
            return self.answer_call(error, m, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A symbol for a parameter, unless the real program asks."""
        return attr_val if self.is_real else super().getattr(attr, attr_val, parameter_proxy_cache)


def said(answer: object) -> str:
    """An answer in words; fxcore's assumptions are worded likewise."""
    if isinstance(answer, bool):
        return f"it is {str(answer).lower()}"
    return f"it has {len(answer)} items" if isinstance(answer, list) else f"it is {answer}"


active: list[Oracle] = []
"""The oracles that are tracing, the innermost last."""


def answered() -> None:
    """What a node calls that stands for a value of the real run alone."""
