"""The statements of a generated function, node by node."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from fxcore import torch_compat
from fxcore.code.operator_templates import EXPRESSIONS, STATEMENTS
from fxcore.code.verbose import Painter, Provenance, meta_block, tensor_annotation
from fxcore.immutable_collections import immutable_list
from fxcore.node import Argument, Node, map_arg
from fxcore.nodes.namespace import _custom_builtins, _Namespace
from fxcore.nodes.numpy_values import numpy_text
from fxcore.nodes.qualified_name import _get_qualified_name, _is_from_torch, _type_repr

if TYPE_CHECKING:
    from fxcore.codegen import CodeGen

Line: TypeAlias = tuple[str, int | None]
"""Source text that ends with a newline, and the index of the node that it was generated for."""

WRAP = "torch.fx._symbolic_trace.wrap"
"""The function that generated code calls to mark functions as wrapped: ``wrap`` of torch.fx, as in torch.fx's own
code."""

# The builtin containers' names in `typing`: an annotation made with one of these names is written with that name.
_TYPING_NAMES = {
    list: typing.List,  # noqa: UP006
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}
_GenericAlias = type(typing.List[int])  # noqa: UP006

_PLAIN = frozenset({int, float, str, bool, type(None)})


@dataclass(frozen=True)
class CodeOptions:
    """How to write a graph: the arguments of `Graph.python_code`."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    record_func: bool = False
    additional_meta: Sequence[str] | None = None
    include_meta: bool = False

    @classmethod
    def with_environment(cls, **options: Any) -> CodeOptions:
        """The given options, plus those that ``FX_GRAPH_SHOW_STRIDE``, ``_DEVICE`` and ``_META`` turn on (if ``1``)."""
        for option, variable in (("include_stride", "STRIDE"), ("include_device", "DEVICE"), ("include_meta", "META")):
            if os.environ.get(f"FX_GRAPH_SHOW_{variable}") == "1":
                options[option] = True
        return cls(**options)


class _Names(dict[Node, str]):
    """The name of each node's value in the source; a node gets its name when it is first mentioned."""

    def __init__(self, namespace: _Namespace) -> None:
        super().__init__()
        self._namespace = namespace

    def __missing__(self, node: Node) -> str:
        name = self[node] = self._namespace.create_name(node.name, node)
        return name


class Emitter:
    """Writes the statements for the nodes of one graph, and collects what the function around the statements needs."""

    def __init__(self, codegen: CodeGen, root_module: str, namespace: _Namespace, options: CodeOptions) -> None:
        self.globals: dict[str, Any] = {}
        self.parameters: list[str] = []
        self.return_annotation = ""
        self._codegen = codegen
        self._root_module = root_module
        self._namespace = namespace
        self._options = options
        self._names = _Names(namespace)
        self._functions: dict[Any, str] = {}
        self._wrapped: dict[str, None] = {}
        self._paint = Painter(options.colored)
        self._write: dict[str, Callable[[Node], str]] = {
            "placeholder": self._placeholder,
            "get_attr": self._get_attr,
            "call_function": self._call_function,
            "call_module": self._call_module,
            "call_method": self._call_method,
            "output": self._output,
        }
        for name, builtin in _custom_builtins.items():
            self.add_global(name, builtin.obj)

    def emit(self, nodes: list[Node]) -> list[Line]:
        """Return the lines of the function's body."""
        body: list[Line] = []
        last_uses = _last_uses(nodes)
        include_meta, record_func = self._options.include_meta, self._options.record_func
        provenance = Provenance(self._paint, self._options.additional_meta) if self._options.verbose else None
        for index, node in enumerate(nodes):
            if provenance is not None and (comment := provenance.comment(node)):
                body.append((comment, index - 1 if index else None))
            op = node.op
            write = self._write.get(op)
            if write is None:
                raise NotImplementedError(f"no source code can be generated for the opcode '{op}' of '{node}'")
            text = write(node)
            if op != "placeholder":
                text += "\n" if op == "output" else self._ending(node, last_uses.get(node, []))
            if include_meta and node.meta:
                text = meta_block(node) + text
            if record_func and op.startswith("call_"):
                text = "".join([_enter(f"_rf_{node.name}", str(index)), text, _exit(f"_rf_{node.name}")])
            if text:
                body.append((text, index))
        if record_func:
            body = [(_enter("_rf", "ENTER_GRAPH_PLACEHOLDER_KEY"), None), *body, (_exit("_rf"), None)]
        return body or [("pass\n", None)]

    def wrap_statements(self) -> str:
        """A call to ``wrap`` for each wrapped function, which a tracer must not trace through."""
        return "\n".join(f'{WRAP}("{name}")' for name in self._wrapped)

    def add_global(self, name_hint: str, obj: Any) -> str:
        """The name that the source uses for an object from outside the graph: ``name_hint`` or a similar name.

        An object of torch's is referred to by its qualified name; every other object becomes a global of the source.
        """
        if _is_from_torch(obj) and obj != torch.device:
            return _get_qualified_name(obj)
        name = self._namespace.create_name(name_hint, obj)
        known = self.globals.setdefault(name, obj)
        if known is not obj and known != obj:
            raise AssertionError(f"two different objects have the name {name}: {known!r} and {obj!r}")
        return name

    # Statements, one method for each opcode. Names are given on first mention, so the order of mention is part of the
    # result: annotation, function, variable, arguments.

    def _placeholder(self, node: Node) -> str:
        annotation = self._annotation(node)
        default = f" = {self._value(node.args[0])}" if node.args else ""
        desc = node.meta.get("desc") if self._options.expanded_def else None
        comment = "" if desc is None else f"  # {desc}"
        self.parameters.append(f"{node.target}{annotation}{default}{comment}")
        parameter = node.target.replace("*", "")
        name = self._names[node]
        return "" if parameter == name else f"{name} = {parameter}\n"

    def _get_attr(self, node: Node) -> str:
        annotation = self._annotation(node)
        return f"{self._names[node]}{annotation} = {_dotted(self._root_module, node.target)}"

    def _call_module(self, node: Node) -> str:
        annotation = self._annotation(node)
        called = _dotted(self._root_module, node.target)
        return f"{self._names[node]}{annotation} = {called}({self._arguments(node.args, node.kwargs)})"

    def _call_method(self, node: Node) -> str:
        annotation = self._annotation(node)
        name = self._names[node]
        called = _dotted(self._value(node.args[0]), node.target)
        return f"{name}{annotation} = {called}({self._arguments(node.args[1:], node.kwargs)})"

    def _call_function(self, node: Node) -> str:
        annotation = self._annotation(node)
        if (template := EXPRESSIONS.get(node.target)) is not None:
            name = self._names[node]
            return f"{name}{annotation} = {template.format(*map(self._value, node.args))}"
        if (template := STATEMENTS.get(node.target)) is not None:
            statement = template.format(*map(self._value, node.args))
            return f"{statement};  {self._names[node]}{annotation} = {self._value(node.args[0])}"
        function = self._function(node.target)
        name = self._names[node]
        if function == "getattr" and _is_plain_getattr(node.args):
            return f"{name}{annotation} = {_dotted(self._value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self._wrapped[function] = None
        return f"{name}{annotation} = {function}({self._arguments(node.args, node.kwargs)})"

    def _output(self, node: Node) -> str:
        if node.type is not None:
            self.return_annotation = f" -> {self._type(node.type)}"
        descs = node.meta.get("desc") if self._options.expanded_def else None
        with self._naming(node.args):
            return call_with_known(self._codegen.generate_output, node.args[0], descs=descs, repr_fn=self._value)

    def _ending(self, node: Node, last_used: list[Node]) -> str:
        """The end of a statement. It sets variables that are not used afterwards to None, to free their memory."""
        unneeded = last_used if node.users else [*last_used, node]
        if not unneeded:
            return "\n"
        assigned = " = ".join([*[self._names[unused] for unused in unneeded], "None"])
        return f";  {self._paint('dim', assigned)}\n"

    # Parts of statements.

    def _function(self, function: Any) -> str:
        known = self._functions.get(function)
        if known is None:
            known = self._functions[function] = self.add_global(_get_qualified_name(function), function)
        return known

    def _arguments(self, args: Sequence[Argument], kwargs: dict[str, Argument]) -> str:
        parts = [self._names[arg] if type(arg) is Node else self._value(arg) for arg in args]
        if kwargs:
            parts += [f"{name} = {self._value(value)}" for name, value in kwargs.items()]
        return ", ".join(parts)

    def _value(self, arg: Any) -> str:
        """The source of an argument, as an expression."""
        kind = type(arg)
        if kind is Node:
            return self._names[arg]
        if kind in _PLAIN:
            return self._paint("blue", repr(arg))
        if kind is tuple:
            items = [self._value(item) for item in arg]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if kind is immutable_list:
            return f"[{', '.join([self._value(item) for item in arg])}]"
        return self._special_value(arg)

    def _special_value(self, arg: Any) -> str:
        if text := numpy_text(arg):
            name = self.add_global("np", sys.modules["numpy"])
            return self._paint("blue", f"{name}{text.removeprefix('np')}")
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            kind = type(arg)
            with self._naming(arg):
                return f"{self.add_global(_get_qualified_name(kind), kind)}{tuple(arg)!r}"
        if torch_compat.is_operator(arg):
            return self.add_global(_get_qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, torch.Tensor):
            return f"torch.Tensor(size={list(arg.size())}, dtype={str(arg.dtype).split('.')[-1]})"
        if isinstance(arg, list):
            return self._value(immutable_list(arg))
        if isinstance(arg, tuple):
            return self._value(tuple(arg))
        if isinstance(arg, slice):
            return f"slice({self._value(arg.start)}, {self._value(arg.stop)}, {self._value(arg.step)})"
        if (opaque := torch_compat.opaque_value(arg)) is not None:
            for name, kind in opaque.types.items():
                self.add_global(name, kind)
            return opaque.source
        with self._naming(arg):
            return self._paint("blue", repr(arg))

    @contextlib.contextmanager
    def _naming(self, arg: Argument) -> Iterator[None]:
        """Within the block, the ``repr`` of every node in ``arg`` is the node's name in this source."""
        shown: list[tuple[Node, Any]] = []
        map_arg(arg, lambda node: shown.append((node, node._repr_fn)))
        for node, _ in shown:
            node._repr_fn = self._names.__getitem__
        try:
            yield
        finally:
            for node, repr_fn in shown:
                node._repr_fn = repr_fn

    def _annotation(self, node: Node) -> str:
        plain = "" if node.type is None else f" : {self._type(node.type)}"
        return (tensor_annotation(node, self._options, self._paint) or plain) if self._options.verbose else plain

    def _type(self, annotation: Any) -> str:
        """Return the source of a type as an annotation."""
        if annotation == ():
            return "()"
        name = _type_repr(annotation)
        if isinstance(annotation, types.UnionType) and "|" in name:
            return "|".join(map(self._type, typing.get_args(annotation)))
        origin = getattr(annotation, "__origin__", None)
        if not origin:
            return self.add_global(name, annotation)
        if isinstance(annotation, _GenericAlias):
            origin = _TYPING_NAMES.get(origin, origin)
        origin_name = self.add_global(_type_repr(origin), origin)
        # A TensorType is not an alias of typing's: its sizes are in `dims`.
        args = typing.get_args(annotation) or getattr(annotation, "dims", ())
        return f"{origin_name}[{','.join(map(self._type, args))}]" if args else origin_name


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node, the nodes whose values it is the last to use."""
    seen: set[Node] = set()
    last_uses: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        for used in node._inputs:
            if used not in seen:
                seen.add(used)
                last_uses.setdefault(node, []).append(used)
    return last_uses


def _dotted(base: str, path: str) -> str:
    """The expression for the attribute ``path`` of ``base``, with ``getattr`` for non-identifiers (``layers.0``)."""
    for atom in path.split("."):
        base = f"{base}.{atom}" if atom.isidentifier() else f'getattr({base}, "{atom}")'
    return base


def _is_plain_getattr(args: Sequence[Argument]) -> bool:
    """Whether ``getattr(*args)`` can be written with a dot."""
    return len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier()


def _enter(variable: str, label: str) -> str:
    """The line that makes the profiler start to record under ``label``."""
    return f"{variable} = {torch_compat.RECORD_FUNCTION}('## {label} ##'); {variable}.__enter__()\n"


def _exit(variable: str) -> str:
    return f"{variable}.__exit__(None, None, None)\n"


def call_with_known(method: Callable[..., str], *args: Any, **options: Any) -> str:
    """Call ``method`` with those ``options`` that it has parameters for: a subclass's override may have fewer."""
    known = _parameters(getattr(method, "__func__", method))
    return method(*args, **{name: value for name, value in options.items() if name in known})


@functools.lru_cache(maxsize=64)
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)
