"""The graph: a function as a list of nodes, and the ways to build and edit it."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from fxcore.code.emitter import CodeOptions
from fxcore.code.operator_templates import inplace_methods, magic_methods, reflectable_magic_methods
from fxcore.code.printing import format_graph, format_table
from fxcore.code.verbose import _parse_stack_trace, _ParsedStackTrace
from fxcore.codegen import (
    CodeGen,
    PythonCode,
    TransformCodeFunc,
    _BoxedCodeGen,
    _PyTreeCodeGen,
    _PyTreeInfo,
)
from fxcore.node import Argument, Node, Target, map_arg
from fxcore.nodes.dead_code import eliminate_dead_code
from fxcore.nodes.graph_pickle import reduced_graph
from fxcore.nodes.lint import lint
from fxcore.nodes.namespace import (
    _custom_builtins,
    _CustomBuiltin,
    _Namespace,
    _register_custom_builtin,
    _snake_case,
)
from fxcore.nodes.node_builder import NodeBuilder
from fxcore.nodes.node_list import NodeIndex, _InsertPoint, _node_list
from fxcore.nodes.qualified_name import _is_from_torch
from fxcore.torch_compat import dtype_abbrs

if TYPE_CHECKING:
    from fxcore.graph_module import GraphModule

__all__ = [
    "CodeGen",
    "Graph",
    "PythonCode",
    "_BoxedCodeGen",
    "_CustomBuiltin",
    "_Namespace",
    "_ParsedStackTrace",
    "_PyTreeCodeGen",
    "_PyTreeInfo",
    "_custom_builtins",
    "_is_from_torch",
    "_parse_stack_trace",
    "_register_custom_builtin",
    "_snake_case",
    "dtype_abbrs",
    "inplace_methods",
    "magic_methods",
    "reflectable_magic_methods",
]


class Graph(NodeBuilder):
    """A function as a list of `Node` objects, in the order in which they run.

    Nodes are added by `placeholder`, `get_attr`, `call_function`, `call_module`, `call_method` and `output`, at the
    insertion point: initially the end of the graph, set by `inserting_before` and `inserting_after`. Together with a
    module that holds the submodules and attributes that its nodes name, a graph makes a `fxcore.GraphModule`.

    ``owning_module`` is the graph module that the graph belongs to. ``constants`` are the values that ``get_attr``
    nodes name and that were not attributes of a module when the function was traced (``_tensor_constant0``, …).
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self.owning_module = owning_module
        self.constants: dict[str, Any] = {}
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._graph_namespace = _Namespace()
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._unfilled: dict[Any, Node] | None = None  # while the graph is unpickled: nodes referred to so far
        self._start()

    def _start(self) -> None:
        """Make the graph empty: only the root of the list of nodes, which isn't an operation, is left."""
        self._index: NodeIndex | None = None
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0

    @property
    def nodes(self) -> _node_list:
        """The nodes in order, as a view that supports iteration, ``reversed`` and ``len``.

        Inserting and erasing nodes while iterating is safe.
        """
        return _node_list(self)

    def output_node(self) -> Node:
        """The output node. Raises ``AssertionError`` unless the last node of the graph is one."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"the last node of the graph must be its output node, not a {last.op} node")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Any]:
        """The nodes with opcode ``op`` and, if given, with ``target`` (which ``call_function`` requires).

        The nodes are in the order of the graph, or with ``sort=False``, which is faster, in any order. The time taken
        depends on the number of nodes found, not on the size of the graph.
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes(op='call_function') also needs a target: the function that the nodes call")
        if self._index is None:
            self._index = NodeIndex(self.nodes)
        found = self._index.find(op, target)
        return sorted(found, key=attrgetter("_sort_key")) if sort else found

    @contextlib.contextmanager
    def _reindexing(self, node: Node) -> Iterator[None]:
        """Within the block, the opcode or target of ``node`` may be changed."""
        indexed = self._index is not None and self._index.discard(node)
        yield
        if self._index is not None and indexed:
            self._index.add(node)

    # Where new nodes go.

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes before ``n`` (at the start if it is ``None``) from now on, or within a ``with`` statement.

        Raises ``AssertionError`` if ``n`` belongs to another graph.
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError(f"can't insert before '{n.name}', which belongs to another Graph")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Add each new node right after ``n`` (at the end if it is ``None``) from now on, or in a ``with`` statement.

        Raises ``AssertionError`` if ``n`` belongs to another graph.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError(f"can't insert after '{n.name}', which belongs to another Graph")
        return _InsertPoint(self, n.append)

    # Copying.

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of ``node``, which may belong to another graph, at the insertion point.

        ``arg_transform(n)`` returns the argument of the copy for each node ``n`` among the arguments of ``node``.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform) if node.kwargs else None
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = node.meta.copy()
        new.where = node.where
        return new

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Argument | None:
        """Add copies of all nodes of ``g`` except its output, and return what ``g`` returns in terms of the copies.

        ``val_map`` maps nodes of ``g`` to nodes of this graph. The copies are added to it; nodes that are already in
        it aren't copied. With ``return_output_node`` the result is a pair: what ``g`` returns, and the output node of
        ``g``. The result is ``None`` if ``g`` has no output node.
        """
        for name, value in g.constants.items():
            self.constants.setdefault(name, value)
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        # Node by node, because following the links from each to the next would recurse through the whole graph.
        new = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Any, Any] = {} if memo is None else memo
        copied: Any = new.graph_copy(self, copies, return_output_node=True)
        copies.update([(id(node), copies[node]) for node in self.nodes if node in copies])  # as deepcopy does
        new._codegen = copy.deepcopy(self._codegen)
        if copied is not None:
            result, output = copied
            new_output = new.output(result, type_expr=output.type)
            new_output.meta = output.meta.copy()
            new_output.where = output.where
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_graph(self)

    # Removing.

    def erase_node(self, to_erase: Node) -> None:
        """Remove ``to_erase`` from the graph.

        Raises ``RuntimeError`` if it has users or belongs to another graph; warns if it has already been erased.
        """
        if to_erase.users:
            raise RuntimeError(
                f"can't erase '{to_erase}', which is used by {len(to_erase.users)} nodes: "
                f"{', '.join(map(str, to_erase.users))}. Replace these uses first, e.g. with `replace_all_uses_with`"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"can't erase '{to_erase}', which belongs to another Graph")
        if to_erase._erased:
            warnings.warn(f"'{to_erase}' has already been erased", stacklevel=2)
            return
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
                hook(to_erase)
        if self._index is not None:
            self._index.discard(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._forget_inputs()

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase every node whose value isn't used and that has no other effect. Returns whether any node was erased.

        `Node.is_impure`, or ``is_impure_node`` if given, decides which nodes have an effect. `Node.is_impure` doesn't
        know every function: register a custom function that writes to its arguments with
        `fxcore.node.has_side_effect`. The graph is linted first. Graph modules among the owning module's children that
        a ``get_attr`` node reads are cleaned as well.
        """
        return eliminate_dead_code(self, is_impure_node)

    def lint(self) -> None:
        """Check that nodes belong to this graph, come before their users, and have unique names and valid targets.

        Raises ``RuntimeError`` (``ValueError`` for a target of the wrong type), which names the first offending node.
        """
        lint(self)

    # Running and showing.

    def python_code(
        self,
        root_module: str,
        *,
        additional_meta: list[str] | None = None,
        colored: bool = False,
        expanded_def: bool = False,
        include_device: bool = False,
        include_stride: bool = False,
        record_func: bool = False,
        verbose: bool = False,
    ) -> PythonCode:
        """The graph as the source of a Python function, with the globals that the function needs.

        ``root_module`` is the name of the variable from which modules and attributes are looked up, e.g. ``"self"``.
        ``verbose`` adds comments that show where each node comes from, and the dtypes and shapes in ``meta``, to which
        ``include_stride`` and ``include_device`` add strides and devices. ``colored`` adds colors for terminals,
        ``expanded_def`` puts each parameter on its own line, ``additional_meta`` lists more keys of ``meta`` to show,
        and ``record_func`` has the profiler record every call.
        """
        options = CodeOptions.with_environment(
            additional_meta=additional_meta,
            colored=colored,
            expanded_def=expanded_def,
            include_device=include_device,
            include_stride=include_stride,
            record_func=record_func,
            verbose=verbose,
        )
        # A fresh namespace: names must be unique among the values and the globals of this source.
        return self._codegen._gen_python_code(self.nodes, root_module, _Namespace(), options)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Use ``codegen`` to generate the source from now on."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Install a function that transforms the lines of the generated function's body.

        ``make_transformer`` is called with the transformer that is installed (or ``None``) and returns the new one: a
        function that takes the body's lines (a list of str, newlines included) and returns the lines to use. At the end
        of a ``with`` statement, the previous transformer is restored.
        """
        codegen, previous = self._codegen, self._codegen._body_transformer
        codegen._body_transformer = make_transformer(previous)

        @contextlib.contextmanager
        def restoring() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = previous

        return restoring()

    def process_inputs(self, *args: Any) -> Any:
        """Convert the arguments of the generated function to the values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Convert the value of the output node to what the generated function returns."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        return format_graph(self)

    def print_tabular(self) -> None:
        """Print the opcode, name, target and arguments of every node as a table."""
        print(format_table(self))  # noqa: T201

    def _announce_replacement(self, old: Node, new: str, user: Node) -> None:
        for hook in getattr(self.owning_module, "_replace_hooks", None) or ():
            hook(old=old, new=new, user=user)
