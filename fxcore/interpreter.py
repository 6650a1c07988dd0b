"""Run a graph node by node: ``Interpreter`` computes values, ``Transformer`` builds a new graph.

The design is torch.fx's (Reed et al., "torch.fx: Practical Program Capture and Transformation for Deep Learning
in Python", MLSys 2022, section 5.3): one overridable method per opcode, called in this order::

    run
      run_node
        placeholder | get_attr | call_function | call_method | call_module | output
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch

from fxcore import traceback
from fxcore._symbolic_trace import Tracer
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Argument, Node, Target, map_aggregate, map_arg
from fxcore.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Executes the graph of a module, one node at a time.

    Subclasses override the method of an opcode to change what it does, or ``run_node`` to see every result::

        class SwapNegAndSigmoid(Interpreter):
            def call_function(self, target, args, kwargs):
                swap = {torch.neg: torch.sigmoid, torch.sigmoid: torch.neg}
                return super().call_function(swap.get(target, target), args, kwargs)

    Attributes:
        module: The module whose parameters, buffers and submodules the graph refers to.
        submodules: ``module``'s submodules by qualified name, as they were when the interpreter was made.
        graph: The graph that is run.
        env: The values computed so far. Each is dropped after its last use, unless ``garbage_collect_values`` is off.
        extra_traceback: Whether the message of an exception raised by ``run`` names the node that was being executed.
    """

    def __init__(
        self, module: torch.nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        """Prepare to run a graph.

        Args:
            module: Usually a ``GraphModule``; any module when ``graph`` is given.
            garbage_collect_values: Drop each value after its last use. Switch this off to inspect ``env`` afterwards.
            graph: The graph to run in place of ``module.graph``.
        """
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = cast(GraphModule, module).graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        if garbage_collect_values:
            self.user_to_last_uses = _last_uses(self.graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph.

        Args:
            *args: The graph's inputs, in the order of its placeholders.
            initial_env: Values known beforehand; the nodes in it are not executed. This dict becomes ``env``.
            enable_io_processing: Let the graph's code generator flatten ``args`` and unflatten the result (pytrees).

        Returns:
            The value of the output node; None if the graph has no output node.

        Raises:
            Exception: Whatever a node's target raises, with the node and the place in the user's source that it comes
                from added to the message. A ``KeyError`` is raised as a ``RuntimeError`` instead, because
                it would print the message as one quoted line.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_node_in_context(node)
            if self.garbage_collect_values:
                for used_up in self.user_to_last_uses.get(node, ()):
                    del self.env[used_up]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on the values of a list, and empty the list so that the caller doesn't keep them alive.

        Args:
            args_list: One value for each placeholder.

        Returns:
            What ``run`` returns.

        Raises:
            RuntimeError: ``args_list`` has more or fewer values than the graph has placeholders.
        """
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            raise RuntimeError(
                f"The graph has {len(placeholders)} placeholders, but {len(args_list)} values were given"
            )
        env = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """Execute one node with the values in ``env``, by calling the method named after its opcode.

        Args:
            n: A node whose inputs have been executed.

        Returns:
            The node's value.
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next input, or all the remaining inputs for a starred parameter.

        Args:
            target: The parameter's name, with its stars.
            args: The parameter's default, if it has one.
            kwargs: Empty.

        Returns:
            The input; a list of inputs for a starred parameter.

        Raises:
            RuntimeError: No input is left, and there is no default.
        """
        if cast(str, target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"No argument was given for the parameter {target}, which has no default")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Read a parameter, buffer, constant or submodule; see ``fetch_attr``."""
        return self.fetch_attr(cast(str, target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function ``target``."""
        return cast("Callable[..., Any]", target)(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call the method named ``target`` on the first of ``args``, and pass it the others."""
        receiver, *others = args
        return getattr(receiver, cast(str, target))(*others, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call the submodule with the qualified name ``target``."""
        return self.fetch_attr(cast(str, target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the graph's result, which is the only item of ``args``."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Look up an attribute of the module, or a constant that tracing left in the graph.

        Args:
            target: A qualified name such as ``"layer1.0.weight"``.

        Returns:
            The attribute's value.

        Raises:
            RuntimeError: Neither the module nor the graph's constants have anything by that name.
        """
        value: Any = self.module
        atoms = target.split(".")
        for depth, atom in enumerate(atoms, 1):
            if not hasattr(value, atom):
                if target in self.graph.constants:
                    return self.graph.constants[target]
                raise RuntimeError(f"The graph refers to {'.'.join(atoms[:depth])}, which the module does not have")
            value = getattr(value, atom)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments of ``n``, with each node replaced by its value."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Replace the nodes in ``args``, at any depth, with their values.

        Args:
            args: Arguments as a node holds them.
            n: The node that the arguments belong to, for the error message.

        Returns:
            ``args`` with each node replaced by its value in ``env``.

        Raises:
            RuntimeError: A node in ``args`` has no value yet.
        """

        def value_of(argument: Node) -> Argument:
            if argument not in self.env:
                raise RuntimeError(
                    f"{n} uses {argument}, which has no value: Graph.lint() reports which nodes are out of order"
                )
            return self.env[argument]

        return map_arg(args, value_of)

    def _run_node_in_context(self, node: Node) -> Any:
        """Run a node, and name it in the message of any exception that it raises."""
        try:
            with traceback.set_current_meta(node, type(self).__name__):
                return self.run_node(node)
        except Exception as error:
            if not self.extra_traceback:
                raise
            context = _describe(node)
            message = f"{error.args[0]}\n\n{context}" if error.args else context
            error.args = (message, *error.args[1:])
            if isinstance(error, KeyError):
                raise RuntimeError(*error.args) from error
            raise


class Transformer(Interpreter):
    """Builds a new graph by interpreting a graph with proxies as values.

    Subclasses override the method of an opcode and may compute with the proxies that it is passed::

        class SwapNegAndSigmoid(Transformer):
            def call_function(self, target, args, kwargs):
                swap = {torch.neg: torch.sigmoid, torch.sigmoid: torch.neg}
                return super().call_function(swap.get(target, target), args, kwargs)

        swapped = SwapNegAndSigmoid(graph_module).transform()
    """

    def __init__(self, module: GraphModule) -> None:
        """Prepare to transform ``module``, which remains unchanged."""
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.new_graph.constants.update(module.graph.constants)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Add to the new graph a placeholder with the same name and default value."""
        default = args[0] if args else inspect.Signature.empty
        node = self.new_graph.placeholder(cast(str, target), default_value=default)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Add a read of the same attribute to the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call the submodule through the tracer, which records the call unless ``is_leaf_module`` is overridden."""
        submodule = self.fetch_attr(cast(str, target))
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call to the same function to the new graph, without tracing into the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Build the new graph; its nodes inherit the ``meta`` that records where the original nodes come from.

        Returns:
            A module with the new graph, and with those attributes of the old module that the new graph uses.
        """
        with traceback.preserve_node_meta():
            result = self.run(enable_io_processing=False)
        if result is not None:
            node = self.new_graph.output(map_aggregate(result, _without_proxy))
            node.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    """Records into the graph of a ``Transformer``; every module is a leaf."""

    def __init__(self, graph: Graph, root: torch.nn.Module) -> None:
        super().__init__()
        self.graph = graph
        self.root = root
        self.tensor_attrs = {}

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """Treat every module as a leaf, so that each call to one remains a single node."""
        return True


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Map each node to the nodes whose values it is the last to use."""
    seen: set[Node] = set()
    last_uses: dict[Node, list[Node]] = {}
    for user in reversed(graph.nodes):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                last_uses.setdefault(user, []).append(node)
    return last_uses


def _describe(node: Node) -> str:
    """Say what a node does and which line of the user's source it comes from."""
    lines = [f"While executing {node.format_node()}"]
    if node.stack_trace:
        lines += ["Original traceback:", node.stack_trace]
    elif (span := node.span) is not None:
        lines.append(f'  File "{span.file}", line {span.line}')
        if text := linecache.getline(span.file, span.line).strip():
            lines.append(f"    {text}")
    return "\n".join(lines)


def _without_proxy(value: Any) -> Any:
    """The node of a proxy; any other value unchanged."""
    return value.node if isinstance(value, Proxy) else value
