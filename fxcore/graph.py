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

    Nodes are added at the insertion point (at first: the end; `inserting_before`, `inserting_after`) by `placeholder`,
    `get_attr`, `call_function`, `call_module`, `call_method` and `output`. Together with a module that holds the
    submodules and attributes they name, the graph makes a `fxcore.GraphModule`.

    ``owning_module`` is that module; ``constants`` are the values that ``get_attr`` nodes name and that no module held
    when the function was traced (``_tensor_constant0``, …).
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
        self._unfilled: dict[Any, Node] | None = None  # while it is unpickled: nodes that are known of already
        self._start()

    def _start(self) -> None:
        """Make the graph empty: only the root of the list of nodes, which is no operation."""
        self._index: NodeIndex | None = None
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0

    @property
    def nodes(self) -> _node_list:
        """The nodes in order, to iterate over, also ``reversed``, and to take the ``len`` of.

        Inserting and erasing nodes meanwhile is safe.
        """
        return _node_list(self)

    def output_node(self) -> Node:
        """The last node. Raises ``AssertionError`` unless it is the output."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"the last node of the graph must be its output node, not a {last.op} node")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Any]:
        """The nodes with opcode ``op`` and, if given, with ``target`` (``call_function`` demands one).

        In the order of the graph, or with ``sort=False``, which is faster, in any. The time taken depends on the number
        of nodes found, not on the graph's.
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes(op='call_function') also needs a target: the function that the nodes call")
        if self._index is None:
            self._index = NodeIndex(self.nodes)
        found = self._index.find(op, target)
        return sorted(found, key=attrgetter("_sort_key")) if sort else found

    @contextlib.contextmanager
    def _reindexing(self, node: Node) -> Iterator[None]:
        """Within, ``node`` may change its opcode or target."""
        indexed = self._index is not None and self._index.discard(node)
        yield
        if self._index is not None and indexed:
            self._index.add(node)

    # Where new nodes go.

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes before ``n`` from now on, or within a ``with`` statement; ``None``: at the start of the graph.

        Raises ``AssertionError`` if ``n`` belongs to another graph.
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError(f"can't insert before '{n.name}', which belongs to another Graph")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Add each new node right after ``n`` from now on, or within a ``with`` statement; ``None``: at the end.

        Raises ``AssertionError`` if ``n`` belongs to another graph.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError(f"can't insert after '{n.name}', which belongs to another Graph")
        return _InsertPoint(self, n.append)

    # Copying.

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of ``node``, which may be of another graph, at the insertion point.

        ``arg_transform(n)`` gives what stands in this graph for each node ``n`` among its arguments.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform) if node.kwargs else None
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = node.meta.copy()
        new.where = node.where
        return new

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Argument | None:
        """Add copies of all nodes of ``g`` but its output, and return what its output stands for here.

        ``val_map``, from nodes of ``g`` to what stands for them here, is filled; what is in it before isn't copied.
        With ``return_output_node`` the result is a pair of that and the output node of ``g``. ``None`` without output.
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
        # Node by node, because following the links from one to the next would recurse through the whole graph.
        new = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Any, Any] = {} if memo is None else memo
        copied: Any = new.graph_copy(self, copies, return_output_node=True)
        copies.update([(id(node), copies[node]) for node in self.nodes if node in copies])  # for who else refers to one
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
        """Take ``to_erase`` out of the graph.

        Raises ``RuntimeError`` while it has users or if it is of another graph; warns if it was erased before.
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
        """Erase every node whose value isn't used and that has no other effect. Returns whether there was any.

        What has an effect, `Node.is_impure` says, or ``is_impure_node`` if given. It can't know of every function: a
        custom function that writes to its arguments must be named to `fxcore.node.has_side_effect`. The graph is linted
        first. Graph modules among the owning module's children that a ``get_attr`` reads are cleaned as well.
        """
        return eliminate_dead_code(self, is_impure_node)

    def lint(self) -> None:
        """Check that the graph is sound: its nodes its own, defined before use, named once, with good targets.

        Raises ``RuntimeError`` (``ValueError`` for a target of the wrong type) that names the first node at fault.
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
        """The graph as the source of a Python function, with the globals that it needs.

        ``root_module`` is the variable that modules and attributes are looked up from: ``"self"``. ``verbose`` adds
        comments (where each node comes from) and the dtypes and shapes in ``meta``, with ``include_stride`` and
        ``include_device`` more of these; ``colored`` is for terminals, ``expanded_def`` puts each argument on a line of
        its own, ``additional_meta`` are keys of ``meta`` to show, ``record_func`` tells the profiler of every node.
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
        # A namespace of its own: a name must be unique among the values and the globals of this source.
        return self._codegen._gen_python_code(self.nodes, root_module, _Namespace(), options)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have ``codegen`` make the source from now on."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Have the lines of the function's body go through a function before they become the source.

        ``make_transformer`` is called with the one in force (or ``None``) and returns that function, which takes the
        body's lines (list of str, newlines included) and returns those to use. In a ``with`` statement, the one before
        comes back at the end.
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
        """The arguments of the generated function as the values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The value of the output node as what the generated function returns."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        return format_graph(self)

    def print_tabular(self) -> None:
        """Print opcode, name, target and arguments of every node as a table."""
        print(format_table(self))  # noqa: T201

    def _announce_replacement(self, old: Node, new: str, user: Node) -> None:
        for hook in getattr(self.owning_module, "_replace_hooks", None) or ():
            hook(old=old, new=new, user=user)
