"""Which calls of a file capture something, with which capture, and what they capture is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fx_lsp.agent.messages import Capture
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.scopes import CodePlace, Function
from fx_lsp.targets.explicit_targets import traced_by, tracer_classes
from fx_lsp.targets.program_origins import Origins, Parameter

_EXPORTING = frozenset(
    {
        *(f"torch.export.{name}" for name in ("export", "export_for_training", "export_for_inference", "draft_export")),
        "torch._export.aot_compile",
        "torch._export.capture_pre_autograd_graph",
        "torch._inductor.aot_compile",
        "torch._inductor.aoti_compile_and_package",
        "torch.onnx.dynamo_export",
        "torch_tensorrt.dynamo.compile",
        "torch_tensorrt.dynamo.export",
        "torch_tensorrt.dynamo.trace",
        "ai_edge_torch.convert",
        "litert_torch.convert",
    }
)
"""The dotted names of functions that export their first argument with ``torch.export``, or take an exported program."""

_EXPORTING_IN = {
    "torch": ("prepare_pt2e", "prepare_qat_pt2e"),
    "torchao": ("prepare_pt2e", "prepare_qat_pt2e"),
    "executorch": ("to_edge", "to_edge_transform_and_lower", "to_edge_with_preserved_ops"),
}
"""By package: the names of functions of the same kind that have had several places in that package."""

_COMPILING = frozenset({"torch.compile", "torch.compiler.compile"})

_TENSORRT: dict[object, Capture] = {"default": "export", "dynamo": "export", "torch_compile": "compile", "fx": "fx"}
"""For each ``ir`` of ``torch_tensorrt.compile``, the capture behind it; others lead to TorchScript."""

_ROOTS = ("model", "mod", "module", "root", "f", "programs", "exported_program", "gm")
"""The names of parameters that take what is captured."""


@dataclass(frozen=True)
class CaptureCall:
    """A call, or a decorator, that captures something."""

    capture: Capture
    made_of: frozenset[str]
    """The dotted names of the classes, functions and variables that what is captured is made of."""
    passed: frozenset[Parameter] = frozenset()
    """The parameters, of functions of this file, that what is captured is made of."""
    is_whole: bool = False
    """Whether the call is ``torch.compile(…, fullgraph=True)``."""
    to_onnx: bool = False
    """Whether the call is ``torch.onnx.export``."""


def capture_calls(names: Names, tree: ast.Module, onnx_exports: Callable[[], bool]) -> Iterator[CaptureCall]:
    """The calls and decorators of a file that capture something.

    ``onnx_exports`` returns whether ``torch.onnx.export`` uses ``torch.export`` by default, as it does since torch 2.9.
    """
    origins, tracers = Origins(names), tracer_classes(names)
    for call, place in names.calls:
        if place.expects_error:
            continue
        found = _captured(call, names, onnx_exports)
        root = found[1] if found else None
        if traced := traced_by(call, place, names, tracers):
            found, root = ("fx", traced.root), traced.root
        if found and root is not None:
            made_of, passed = origins.of(root, place)
            is_whole = found[0] == "compile" and _says(call, "fullgraph")
            to_onnx = (names.qualified(call.func) or "").startswith("torch.onnx.")
            yield CaptureCall(found[0], made_of, passed, is_whole, to_onnx)
    yield from _wrapped(tree, names)


def with_argument(
    call: CaptureCall, parameter: Parameter, given: ast.Call, place: CodePlace, names: Names
) -> CaptureCall:
    """``call``, for what a call in another file passes to the function that has this ``parameter``."""
    argument = parameter.argument(given)
    made_of, _ = Origins(names).of(argument, place) if argument else (frozenset[str](), None)
    return replace(call, made_of=made_of, passed=frozenset())


def _captured(call: ast.Call, names: Names, onnx_exports: Callable[[], bool]) -> tuple[Capture, ast.expr | None] | None:
    """The capture that a call uses, and what it captures (None for a decorator's call); None if it uses none."""
    function = names.qualified(call.func) or ""
    if function in _COMPILING:
        return None if _says(call, "disable") else ("compile", _root(call))
    if function == "torch.onnx.export":
        dynamo = _keyword(call, "dynamo")
        exports = dynamo.value is True if isinstance(dynamo, ast.Constant) else onnx_exports()
        return ("export", _root(call)) if exports else None
    if function == "torch_tensorrt.compile":
        ir = _keyword(call, "ir") or ast.Constant("default")
        capture = _TENSORRT.get(ir.value) if isinstance(ir, ast.Constant) else None
        return (capture, _root(call)) if capture else None
    package, _, rest = function.partition(".")
    if function in _EXPORTING or rest.rpartition(".")[2] in _EXPORTING_IN.get(package, ()):
        return "export", _root(call)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
        base = call.func.value
        is_import = isinstance(base, ast.Name) and base.id in names.imported  # such as ``re.compile(…)``
        return None if is_import else ("compile", base)
    return None


def _wrapped(tree: ast.Module, names: Names) -> Iterator[CaptureCall]:
    """The classes and functions at the top level that a decorator compiles: themselves, or the class's ``forward``."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, *Function)):
            continue
        parts = node.body if isinstance(node, ast.ClassDef) else ()
        forwards = [part for part in parts if isinstance(part, Function) and part.name == "forward"]
        for decorator in [*node.decorator_list, *(found for part in forwards for found in part.decorator_list)]:
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            if names.qualified(call.func) in _COMPILING and not _says(call, "disable"):
                yield CaptureCall("compile", frozenset({node.name}), is_whole=_says(call, "fullgraph"))


def _root(call: ast.Call) -> ast.expr | None:
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return next((found for name in _ROOTS if (found := _keyword(call, name))), None)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _says(call: ast.Call, name: str) -> bool:
    """Whether the call passes ``True`` by this name."""
    value = _keyword(call, name)
    return isinstance(value, ast.Constant) and value.value is True
