"""einops's operations do what the installed einops does with tensors that are not traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from fx_lsp.agent.building.build import Built, directed
from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn, missing_parts
from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.missing.missing_uses import called_stand_ins, forget_uses, used_stand_in
from fxcore import Tracer, symbolic_trace
from fxcore.explore import explore
from fxcore.failures import FailureKind, TraceFailure

einops = pytest.importorskip("einops")

OURS = StandInModule("einops")

X = torch.arange(2 * 3 * 4 * 6.0).reshape(2, 3, 4, 6)

PATTERNS: list[tuple[str, tuple[Any, ...], dict[str, int]]] = [
    ("rearrange", ("b c h w -> b h w c",), {}),
    ("rearrange", ("b c (h p) w -> b (c p) h w",), {"p": 2}),
    ("rearrange", ("b c h (w p) -> p b c h w",), {"w": 3}),
    ("rearrange", ("b ... -> ... b",), {}),
    ("rearrange", ("b c ... -> b (...) c",), {}),
    ("rearrange", ("b c h w -> b 1 (c h w) ()",), {}),
    ("rearrange", ("(b one) c h w -> one b (c h) w",), {"one": 1}),
    ("repeat", ("b c h w -> b c h w k",), {"k": 3}),
    ("repeat", ("b c h w -> (k b) c h w",), {"k": 2}),
    ("repeat", ("b c h w -> b c (h 2) (w 3)",), {}),
    ("repeat", ("... -> k ...",), {"k": 2}),
    ("reduce", ("b c h w -> b c", "mean"), {}),
    ("reduce", ("b c (h 2) (w 3) -> b c h w", "max"), {}),
    ("reduce", ("b c h w -> b c () ()", "sum"), {}),
    ("reduce", ("b ... c -> b c", "min"), {}),
    ("reduce", ("b c h w -> ", "sum"), {}),
]

MISFITS: list[tuple[str, tuple[Any, ...], dict[str, int]]] = [
    ("rearrange", ("b c h _w -> b c h _w",), {}),
    ("rearrange", ("b c h w -> b c h",), {}),
    ("rearrange", ("b c h -> b c h",), {}),
    ("rearrange", ("b c h w -> b c h w",), {"q": 2}),
    ("rearrange", ("b c (h p) w -> b c h p w",), {"p": 3}),
    ("rearrange", ("b c h (w p) -> b c h w p",), {}),
    ("rearrange", ("1 c h w -> c h w",), {}),
    ("repeat", ("b c h w -> k b c h w",), {}),
    ("reduce", ("b c h w -> b c d", "mean"), {"d": 3}),
]


@pytest.mark.parametrize(("name", "pattern", "lengths"), PATTERNS)
def test_what_a_pattern_does(name: str, pattern: tuple[Any, ...], lengths: dict[str, int]) -> None:
    torch.testing.assert_close(
        getattr(OURS, name)(X, *pattern, **lengths), getattr(einops, name)(X, *pattern, **lengths)
    )


@pytest.mark.parametrize(("name", "pattern", "lengths"), MISFITS)
def test_a_pattern_that_does_not_fit(name: str, pattern: tuple[Any, ...], lengths: dict[str, int]) -> None:
    with pytest.raises(einops.EinopsError):
        getattr(einops, name)(X, *pattern, **lengths)
    with pytest.raises(OURS.EinopsError):
        getattr(OURS, name)(X, *pattern, **lengths)


def test_a_list_of_tensors_is_stacked() -> None:
    parts = [X[0], X[1]]
    pattern = "b c h w -> c (b h) w"
    torch.testing.assert_close(OURS.rearrange(parts, pattern), einops.rearrange(parts, pattern))


def test_what_is_not_known_is_a_stand_in() -> None:
    assert isinstance(OURS.rearrange(StandIn("x"), "b c -> c b"), StandIn)
    assert isinstance(OURS.reduce(X, "b c h w -> b", torch.logsumexp), StandIn)
    assert isinstance(OURS.rearrange(X, "b (c -> b"), StandIn)
    assert isinstance(OURS.pack([X], "b *"), StandIn)


CALLS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "rearrange": lambda package, x: package.rearrange(x, "b c -> c b"),
    "rearrange a list": lambda package, x: package.rearrange([x, x], "n b c -> b c n"),
    "repeat": lambda package, x: package.repeat(x, "b c -> b c d", d=2),
    "reduce": lambda package, x: package.reduce(x, "b c -> b", "mean"),
    "einsum": lambda package, x: package.einsum(x, x, "b c, b c -> b"),
    "pack": lambda package, x: package.pack([x], "b *"),
    "unpack": lambda package, x: package.unpack(x, [(2,)], "b *"),
    "parse_shape": lambda package, x: package.parse_shape(x, "b c"),
    "asnumpy": lambda package, x: package.asnumpy(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_all_functions_refuse_traced_values(call: Callable[[Any, torch.Tensor], Any]) -> None:
    forget_uses()
    refused = [_refused(call, package) for package in (OURS, einops)]
    assert [failure.kind for failure in refused] == [FailureKind.FOREIGN_CALL] * 2
    assert str(refused[0]) == str(refused[1])
    assert (used_stand_in(), called_stand_ins()) == (None, ([], []))


def _refused(call: Callable[[Any, torch.Tensor], Any], package: Any) -> TraceFailure:
    with pytest.raises(TraceFailure) as info:
        symbolic_trace(lambda x: call(package, x + 1))
    return info.value


def test_functions_refuse_traced_values_from_whichever_module_they_are_imported() -> None:
    assert _refused(CALLS["rearrange"], StandInModule("einops.einops")).kind is FailureKind.FOREIGN_CALL


def test_exploring_goes_on_behind_a_refused_call() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = OURS.rearrange(x, "b c -> c b")
        return y if x.sum() > 0 else -y

    kinds = [site.failure.kind for site in explore(program).sites]
    assert kinds == [FailureKind.FOREIGN_CALL, FailureKind.CONTROL_FLOW]


class _Tracer(Tracer):
    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, MissingModule) or super().is_leaf_module(m, module_qualified_name)


LAYERS: dict[str, Callable[[Any], Any]] = {
    "Rearrange": lambda package: package.Rearrange("b c -> c b"),
    "Reduce": lambda package: package.Reduce("b c -> b", "mean"),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_refuse_traced_values(make: Callable[[Any], Any]) -> None:
    for package in (StandInModule("einops.layers.torch"), pytest.importorskip("einops.layers.torch")):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), make(package), torch.nn.ReLU())
        with pytest.raises(TraceFailure):
            _Tracer().trace(model)
        assert len(explore(model, tracer=_Tracer()).sites) == 1


def test_a_layer_that_the_trace_does_not_call_is_no_condition() -> None:
    layer = StandInModule("einops.layers.torch").Rearrange("b c -> c b")
    assert missing_parts(torch.nn.Sequential(layer)) == ([], [])


@pytest.mark.parametrize("expression", ["tracer", "leaves"])
def test_a_layer_may_be_a_leaf_of_the_program_s_own_tracer(expression: str) -> None:
    model = torch.nn.Sequential(StandInModule("einops.layers.torch").Rearrange("b c -> c b"))
    namespace = {"tracer": Tracer(), "leaves": (torch.nn.ReLU,)}
    for own, nodes in ((Snippet(expression, 1), ["placeholder", "call_module", "output"]), (None, None)):
        recipe = Recipe(Snippet("model", 1), **{expression: own})  # type: ignore[arg-type]
        built = directed(Built(model, None, None, recipe, "model"), recipe, __file__, namespace)
        if nodes is None:
            with pytest.raises(TraceFailure):
                built.tracer.trace(built.root)
        else:
            assert [node.op for node in built.tracer.trace(built.root).nodes] == nodes
            assert missing_parts(model) == (["einops.layers.torch.Rearrange"], [])


def test_a_layer_that_can_be_traced_is_a_leaf() -> None:
    model = torch.nn.Sequential(StandInModule("einops.layers.torch").EinMix("b c -> b d", weight_shape="c d", c=4, d=4))
    assert [node.op for node in _Tracer().trace(model).nodes] == ["placeholder", "call_module", "output"]
    assert missing_parts(model) == (["einops.layers.torch.EinMix"], [])
