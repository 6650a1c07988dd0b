"""Whether an error that ends a trace is believed if fx-lsp invented arguments: where a library refused a symbol."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.inventing.invented_values import InventedModule, invented_tensor
from fx_lsp.agent.messages import Failure, Recipe, Snippet
from fx_lsp.agent.traceback_steps import chain_of_error, describe, told
from fx_lsp.agent.tracing.doubtful_failures import looks_up_in_invented, reason_for_doubt
from tests.agent.tracing import asserting_programs

LIBRARY: dict[str, Any] = {"__name__": "library"}
exec(
    """
def add(*tensors):
    if not all(type(tensor).__name__ == "Tensor" for tensor in tensors):
        raise ValueError("these are no tensors")

def scale(width):
    raise ValueError(f"{width} is too large")
""",
    LIBRARY,
)


def refuses(x: Any, width: int = 4) -> Any:
    if not isinstance(x, list) and width:
        raise TypeError(f"a list is expected, not {type(x)}")
    return x


def refuses_what_is_neither(x: Any, width: int = 4) -> Any:
    if isinstance(x, list) and width:
        return x
    if isinstance(x, tuple):
        return x[0]
    elif isinstance(x, dict):  # noqa: RET505
        return x["x"]
    else:
        raise TypeError


def refuses_a_number(x: Any, width: int = 4) -> Any:
    if width:
        raise NotImplementedError(f"no width {width} for {type(x)}, which is not a list")
    return x


def refuses_silently(x: Any, width: int = 4) -> Any:
    if not isinstance(x, list) and width:
        raise TypeError("a list is expected")
    return x


def shows_what_it_refuses(x: Any, width: int = 4) -> Any:
    if isinstance(x, list) and width:
        return x
    raise TypeError(f"no list of floats: {x!r}")


def shows_a_symbol_and_a_number(x: Any, width: int = 4) -> Any:
    x = x[0] if isinstance(x, list) else x
    if width not in (1, 2):
        raise TypeError(f"no float: {width}, given {x}")
    return x


def within(x: Any) -> Any:
    with x.local_scope():
        return x


@pytest.mark.parametrize(
    ("forward", "is_believed"),
    [
        (lambda self, x: LIBRARY["add"](x, x), True),
        (lambda self, x: LIBRARY["scale"](64), False),
        (lambda self, x: [x for _ in range(0.5)], False),  # type: ignore[call-overload]
        (lambda self, x: torch.stack([x + size for size in self.sizes]), False),
        (lambda self, x: self.invented.encode(x), False),
        (lambda self, x: [x for _ in range(len(self.invented.lower())) if x > 0], True),
        (lambda self, x: refuses_what_is_neither(x), True),
        (lambda self, x: within(x), True),
        (lambda self, x: torch.compile(torch.neg, backend="eager")(x), True),
        (lambda self, x: refuses(x), True),
        (lambda self, x: refuses_silently(x), False),
        (lambda self, x: refuses_a_number(x), False),
        (lambda self, x: asserting_programs.asserts_a_class(x), True),
        (lambda self, x: asserting_programs.asserts_a_class_or_a_number(x), False),
        (lambda self, x: asserting_programs.asserts_one_of_two_classes(x), True),
        (lambda self, x: asserting_programs.asserts_the_class_of_an_attribute(x), True),
        (lambda self, x: shows_what_it_refuses(x), True),
        (lambda self, x: shows_a_symbol_and_a_number(x), False),
        (lambda self, x: asserting_programs.shows_a_symbol_and_settings(x, {}), False),
        (lambda self, x: asserting_programs.asserts_what_holds_and_a_number(x), False),
        (lambda self, x: asserting_programs.asserts_a_tensor_or_a_number(x), True),
        (lambda self, x: asserting_programs.asserts_that_a_number_is_a_tensor(x), False),
        (lambda self, x: asserting_programs.asserts_that_there_is_no_tensor(x), True),
        (lambda self, x: asserting_programs.asserts_that_there_is_no_number(x), False),
    ],
    ids=[
        "a symbol among its arguments",
        "a made-up number",
        "a made-up number for Python's own function",
        "a list that is empty because of made-up arguments",
        "a made-up text may be an object with such a method",
        "a method of a made-up text that works",
        "the program takes a symbol for none of the classes that it knows",
        "a symbol is no context manager",
        "torch refuses to trace what is compiled",
        "the program names the type of a symbol",
        "the program names no type",
        "another error that names the type",
        "the program asserts the class of a symbol",
        "the program asserts that, or something about a made-up number",
        "the program asserts one of two classes of a symbol",
        "the program asserts the class of a symbol's attribute",
        "the program shows the symbol that it refuses",
        "the program shows a symbol beside the made-up number that it refuses",
        "the program shows a symbol beside the made-up settings whose class it asserts",
        "the program asserts a class that the symbol has",
        "the program asserts that a symbol is a tensor, or something about a made-up number",
        "the program asserts that a made-up number is a tensor",
        "the program asserts that there is no symbol",
        "the program asserts that there is no made-up number",
    ],
)
def test_a_library_that_refuses_a_traced_value_is_a_real_failure(forward: Any, is_believed: bool) -> None:
    net = type("Net", (nn.Module,), {"forward": forward, "sizes": (), "invented": "invented"})()
    recipe = Recipe(Snippet("Net", 1), made_up=True)
    with pytest.raises(Exception, match=r"[Tt]ensor|large|float|list|context|FX|encoding|traced|^$") as caught:
        fxcore.Tracer().trace(net)
    doubted = reason_for_doubt(
        caught.value,
        Built(net, None, None, recipe, "Net()"),
        "assumed",
        lambda file: file in (__file__, asserting_programs.__file__),
    )
    assert (doubted is None) == is_believed


@pytest.mark.parametrize("is_first", [False, True])
def test_an_assert_that_also_asks_for_the_class_of_what_an_invented_module_returns_is_doubtful(is_first: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        values = (self.part(x), x) if is_first else (x, self.part(x))
        return asserting_programs.asserts_one_of_two_values(*values)

    net: Any = type("Net", (nn.Module,), {"forward": forward})()
    net.part = InventedModule()
    with pytest.raises(fxcore.failures.TraceFailure) as caught:
        tracer_for(None, (InventedModule,)).trace(net)
    built = Built(net, None, None, Recipe(Snippet("Net", 1), made_up=True), "Net()")
    assert reason_for_doubt(caught.value, built, "assumed", lambda file: file != "library")


def test_what_an_invented_module_returns_may_be_a_context_manager() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = InventedModule()

        def forward(self, x: Any) -> Any:
            return within(self.part(x))

    net = Net()
    tracer = tracer_for(None, (InventedModule,))
    with pytest.raises(Exception, match="context manager") as caught:
        tracer.trace(net)
    built = Built(net, None, tracer, Recipe(Snippet("Net", 1), made_up=True), "Net()")
    doubted = reason_for_doubt(caught.value, built, "assumed", lambda file: file == __file__)
    assert doubted == "it depends on the output of a module that fx-lsp invented"


def test_an_error_is_told_with_its_place_and_an_assert_with_its_check() -> None:
    def refuses(width: int) -> None:
        assert width > 3

    with pytest.raises(AssertionError) as caught:
        refuses(0)
    error = AssertionError().with_traceback(caught.value.__traceback__)  # pytest writes a message into its own
    failure = Failure("build", describe(error), chain_of_error(error, lambda file: file == __file__))
    assert re.fullmatch(r"AssertionError: assert width > 3 \(test_doubtful_failures\.py:\d+\)", told(failure))


def test_lookups_in_what_need_be_no_tensor() -> None:
    class Plain(nn.Module):
        def __init__(self, table: torch.Tensor) -> None:
            super().__init__()
            self.table: Any = table

        def forward(self, x: Any) -> Any:
            return self.table[x.argmax()] + x

    class Buffer(Plain):
        def __init__(self, table: torch.Tensor) -> None:
            nn.Module.__init__(self)
            self.register_buffer("table", table)

    class Method(Plain):
        def forward(self, x: Any) -> Any:
            return self.table[x.argmax()] + torch.add(x, self.table)

    class Two(Method):
        def __init__(self, table: torch.Tensor) -> None:
            super().__init__(table)
            self.other: Any = invented_tensor((4, 4), certain=False)

        def forward(self, x: Any) -> Any:
            return super().forward(x) + self.other[x.argmax()]

    def looks_up(cls: Any, *, certain: bool) -> bool:
        tracer, model = fxcore.Tracer(), cls(invented_tensor((4, 4), certain=certain))
        return looks_up_in_invented(tracer.trace(model), tracer.tensor_attrs, model)

    assert looks_up(Plain, certain=False)
    assert not looks_up(Plain, certain=True)
    assert not looks_up(Buffer, certain=False)
    assert not looks_up(Method, certain=False)
    assert looks_up(Two, certain=True)
    assert looks_up(Two, certain=False)
