"""Explicit targets: the calls with which a file itself traces a module or a function."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.documents.name_resolution import Names, first_callee
from fx_lsp.documents.scopes import CodePlace, Function
from fx_lsp.targets.text_spans import SourceText, title_of

_MODULES = ("torch.fx", "torch.fx._symbolic_trace", "fxcore", "fxcore.tracer")
SYMBOLIC_TRACE = frozenset(f"{module}.symbolic_trace" for module in _MODULES)
"""The dotted names of the function ``symbolic_trace``."""

_QUANTIZATION_MODULES = ("torch.ao.quantization.quantize_fx", "torch.quantization.quantize_fx")
_FEATURES = "torchvision.models.feature_extraction"
_AUTOWRAP_MODULES = "__import__('math'), __import__('torchvision.ops').ops"
_FEATURE_TRACER = f"__import__('fxcore').Tracer(autowrap_modules=({_AUTOWRAP_MODULES}))"

_TRACING = {
    **{
        f"{module}.{name}": ""
        for module in _QUANTIZATION_MODULES
        for name in ("prepare_fx", "prepare_qat_fx", "fuse_fx")
    },
    **{f"{_FEATURES}.{name}": _FEATURE_TRACER for name in ("create_feature_extractor", "get_graph_node_names")},
    "torch.fx.experimental.optimization.fuse": "",
}
"""The dotted name of each function that traces its first argument, ``model`` -> an expression for the tracer that it
uses, or an empty string if it uses the default tracer."""

_TRACER = frozenset(f"{module}.Tracer" for module in _MODULES)


@dataclass(frozen=True)
class TracedProgram:
    """What one call traces, and how."""

    root: ast.expr
    concrete_args: ast.expr | None = None
    tracer: ast.expr | None = None
    """The expression for the tracer, unless this is simply ``torch.fx.Tracer()``."""
    own_tracer: str = ""
    """An expression for the tracer that the called function uses."""


def explicit_targets(names: Names, text: SourceText) -> Iterator[Target]:
    """The calls in the file that trace something and can be repeated outside the function around them.

    These are calls to ``symbolic_trace``, to a tracer's ``trace``, and to functions that trace their argument. Calls
    whose arguments depend on the caller of the function around them are left out.
    """
    tracers = tracer_classes(names)
    seen: Counter[str] = Counter()
    for call, place in names.calls:
        traced = None if place.expects_error else traced_by(call, place, names, tracers)
        if traced is None:
            continue
        key = f"call:{place.scope.prefix}{ast.unparse(call)}"
        seen[key] += 1
        recipe = _recipe(traced, call, place, names, text)
        if recipe is not None:
            symbol = _symbol(traced.root, place, names)
            yield Target(f"{key}#{seen[key]}", title_of(call), text.span(call), recipe, "explicit", symbol)


def tracer_classes(names: Names) -> frozenset[str]:
    """The dotted names of every tracer class that the file knows: torch.fx's, fxcore's and the file's own."""
    found = set(_TRACER)
    for node in names.classes:
        if any(dotted(base, names) in found for base in node.bases):
            found.add(node.name)
    return frozenset(found)


def traced_by(call: ast.Call, place: CodePlace, names: Names, tracers: frozenset[str]) -> TracedProgram | None:
    """What a call traces; None if it traces nothing. ``tracers`` are the file's `tracer_classes`."""
    tracer = None
    function = dotted(call.func, names)
    if function in _TRACING:
        model = _argument(call, 0, "model")
        return None if model is None else TracedProgram(model, own_tracer=_TRACING[function])
    if function not in SYMBOLIC_TRACE:
        tracer = _tracer(call.func, place, names, tracers)
        if tracer is None:
            return None
    root, concrete_args = _argument(call, 0, "root"), _argument(call, 1, "concrete_args")
    if root is None:
        return None
    return TracedProgram(root, concrete_args, None if tracer is None or _is_plain_tracer(tracer, names) else tracer)


def _tracer(function: ast.expr, place: CodePlace, names: Names, tracers: frozenset[str]) -> ast.expr | None:
    """The tracer of ``tracer.trace``: an expression that creates a tracer, or a name that was assigned a tracer."""
    if not isinstance(function, ast.Attribute) or function.attr != "trace":
        return None
    made: ast.expr | None = function.value
    if isinstance(made, ast.Name):
        binding = names.binding(made.id, place)
        made = binding.value if binding else None
    is_tracer = isinstance(made, ast.Call) and dotted(made.func, names) in tracers
    return None if not is_tracer else made if _is_plain_tracer(made, names) else function.value


def _is_plain_tracer(tracer: ast.expr | None, names: Names) -> bool:
    """Whether the expression creates the default tracer without arguments."""
    match tracer:
        case ast.Call(func=function, args=[], keywords=[]):
            return dotted(function, names) in _TRACER
    return False


def dotted(expression: ast.expr, names: Names) -> str | None:
    """The dotted name that ``expression`` refers to, even if the name comes from ``import *``."""
    name = names.qualified(expression)
    if name in ("symbolic_trace", "Tracer"):
        star = next((star.name for star in names.star_imports if star.name in _MODULES), None)
        return f"{star}.{name}" if star else name
    return name


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    given = call.args[: position + 1]
    if any(isinstance(argument, ast.Starred) for argument in given):
        return None
    if len(given) > position:
        return given[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _recipe(traced: TracedProgram, call: ast.Call, place: CodePlace, names: Names, text: SourceText) -> Recipe | None:
    parts = (traced.root, traced.concrete_args, traced.tracer)
    setup = names.setup([part for part in parts if part is not None], place)
    if setup is None:
        return None
    own_tracer = Snippet(traced.own_tracer, call.lineno) if traced.own_tracer else None
    return Recipe(
        root=text.snippet(traced.root),
        setup=tuple(text.snippet(statement) for statement in setup),
        concrete_args=text.snippet(traced.concrete_args) if traced.concrete_args else None,
        tracer=text.snippet(traced.tracer) if traced.tracer else own_tracer,
    )


def _symbol(root: ast.expr, place: CodePlace, names: Names) -> str | None:
    """The function of this file that ``root`` names, or the class it instantiates: ``Net`` for ``Net(3).eval()``."""
    expression: ast.expr | None = root
    while expression is not None:
        callee = first_callee(expression)
        name = callee or expression
        binding = names.binding(name.id, place) if isinstance(name, ast.Name) else None
        if binding is None:
            return None
        defines = ast.ClassDef if callee else Function
        if isinstance(binding.statement, defines):
            return f"{binding.place.scope.prefix}{binding.statement.name}"
        expression = None if callee else binding.value
        place = binding.place
    return None
