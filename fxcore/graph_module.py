"""A module whose forward is generated from a graph."""

from __future__ import annotations

import copy
import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch

from fxcore.code.generated_function import Generated, PendingForward, _forward_from_src, _method_from_src
from fxcore.code.printing import print_readable
from fxcore.code.serialization import _CodeOnlyModule, load, stored, stored_in_package, to_folder
from fxcore.codegen import PythonCode, _BoxedCodeGen, _PyTreeCodeGen
from fxcore.graph import Graph
from fxcore.nodes.attribute_paths import (
    AttributeCopier,
    _assign_attr,
    _child,
    _copy_attr,
    _del_attr,
    _get_attr,
    _get_attr_via_attr_list,
    _has_attr,
)
from fxcore.nodes.node_hooks import NodeHooks

__all__ = [
    "GraphModule",
    "_CodeOnlyModule",
    "_assign_attr",
    "_copy_attr",
    "_del_attr",
    "_deserialize_graph_module",
    "_forward_from_src",
    "_get_attr",
    "_get_attr_via_attr_list",
    "_has_attr",
    "_method_from_src",
    "reduce_graph_module",
    "reduce_package_graph_module",
]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"

# Kept by a deep copy; as in torch.fx, all other hooks of a module are dropped.
_COPIED_HOOKS = (
    *("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks"),
    *("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)

# Generated from the graph, so they needn't be copied.
_GENERATED_ATTRIBUTES = frozenset({"_code", "_lineno_map", "_prologue_start"})


class GraphModule(NodeHooks, torch.nn.Module):
    """A module made of a `Graph` and of the submodules, parameters, buffers and other attributes that the graph names.

    ``code`` is the source generated from ``graph``, and ``forward`` the function that this source defines, compiled at
    its first use. Assigning ``graph`` generates both anew; after editing the graph in place, call `recompile`.

    ``root`` holds what the graph names: it is either a module, whose submodules and attributes are shared at the same
    paths, or a dict from those paths to values. What ``root`` lacks is taken from ``graph.constants``. ``class_name``
    is the name of the module's class. Raises ``AttributeError`` (``RuntimeError`` for a dict) if something is missing.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Make a subclass of ``cls`` for this instance alone, because ``forward`` is looked up on the class."""
        base = next(c for c in cls.__mro__ if c.__qualname__.rpartition(".")[2] != "GraphModuleImpl")
        impl = type("GraphModuleImpl", (base,), {"__module__": __name__})
        return cast(GraphModule, super().__new__(impl))

    def __init__(self, root: torch.nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = dict.fromkeys(n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
        if isinstance(root, torch.nn.Module):
            self._take_from_module(root, graph, targets)
        elif isinstance(root, dict):
            self._take_from_dict({**graph.constants, **root}, targets)
        else:
            raise RuntimeError(f"root must be a module or a dict, not {root!r}")
        self.graph = graph
        # A local class can't be pickled, so a tracer's class isn't kept if it is one.
        tracer = graph._tracer_cls
        self._tracer_cls = None if tracer is None or "<locals>" in tracer.__qualname__ else tracer
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}

    def _take_from_module(self, root: torch.nn.Module, graph: Graph, targets: Iterable[str]) -> None:
        self.training = getattr(root, "training", self.training)
        if isinstance(root, _CodeOnlyModule):
            everything = itertools.chain(root.named_children(), root.named_buffers(), root.named_parameters())
            for name in [name for name, _ in everything]:
                _copy_attr(root, self, name)
        copier = AttributeCopier(root, self)
        for target in targets:
            if target in graph.constants and not _has_attr(root, target):
                _assign_attr(graph.constants[target], self, target)
            else:
                copier.copy(target)

    def _take_from_dict(self, values: dict[str, Any], targets: Iterable[str]) -> None:
        # Shorter paths first: a module in `values` must be in place before anything is set inside it.
        for target in sorted(targets, key=lambda target: target.count(".")):
            if target not in values:
                raise RuntimeError(f"the graph refers to '{target}', which is missing from the dict passed as root")
            _assign_attr(values[target], self, target)

    @property
    def graph(self) -> Graph:
        """The graph from which ``forward`` is generated. Assigning another graph regenerates the module's code."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"graph must be an fxcore.Graph, not {graph!r}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    # TorchScript must not try to compile these.
    __jit_unused_properties__ = ("graph", "_boxed_call")

    @property
    def _boxed_call(self) -> bool:
        return isinstance(self._graph._codegen, _BoxedCodeGen)

    def recompile(self) -> PythonCode:
        """Generate the code anew from the graph, for this module and for the graph modules among its children."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map = python_code._lineno_map
        self._prologue_start = python_code._prologue_start
        cls: Any = type(self)
        cls._generated = Generated(python_code, self._graph)
        cls.forward = PendingForward(cls._generated)
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return python_code

    @property
    def code(self) -> str:
        """The Python source of ``forward``."""
        return self._code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module. An exception from the generated code gets a note that shows the lines it comes from."""
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            cast(Any, type(self))._generated.explain(error)
            raise

    # Submodules.

    def add_submodule(self, target: str, m: torch.nn.Module) -> bool:
        """Put ``m`` at the dotted path ``target``, and empty modules at missing places along the path.

        Returns False, and doesn't add ``m``, if something along the path isn't a module.
        """
        *path, name = target.split(".")
        module: torch.nn.Module = self
        for atom in path:
            child = _child(module, atom)
            if not isinstance(child, torch.nn.Module):
                return False
            module = child
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the submodule at the dotted path ``target``. Returns False if there is none."""
        *path, name = target.split(".")
        module: Any = self
        for atom in path:
            module = getattr(module, atom, None)
            if not isinstance(module, torch.nn.Module):
                return False
        if not isinstance(getattr(module, name, None), torch.nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the submodules that the graph neither calls nor reads from, except those inside a called submodule."""
        used = {""}
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                used.update(itertools.accumulate(node.target.split("."), "{}.{}".format))
            if node.op == "call_module" and isinstance(called := _module_at(self, node.target), torch.nn.Module):
                used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # Copies.

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        state = {name: value for name, value in self.__dict__.items() if name not in _GENERATED_ATTRIBUTES}
        holder = _CodeOnlyModule(copy.deepcopy(state, memo))
        self._deepcopy_init()(new, holder, holder.__dict__["_graph"])
        for name in _COPIED_HOOKS:
            if name in self.__dict__:
                setattr(new, name, copy.deepcopy(self.__dict__[name], memo))
        new.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in new.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(new, name, value)
        for hook in getattr(self, "_deepcopy_hooks", ()):
            hook(new)
        return new

    def __copy__(self) -> GraphModule:
        new = GraphModule(self, self.graph)
        new.meta = getattr(self, "meta", {})
        return new

    def _replicate_for_data_parallel(self) -> GraphModule:
        new = self.__copy__()
        object.__setattr__(new, "_is_replica", True)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_graph_module, stored(self)

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        return reduce_package_graph_module, stored_in_package(self, exporter)

    # Text.

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module to ``folder`` as a package from which the class ``module_name`` can be imported.

        Submodules are pickled, with a warning that names them, unless their ``repr`` is known to recreate them.
        """
        to_folder(self, folder, module_name)

    print_readable = print_readable

    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])


def reduce_graph_module(body: dict[str, Any], import_block: str) -> torch.nn.Module:
    """Make a graph module from what pickle stored: its attributes and the imports of its code."""
    return _deserialize_graph_module(_forward_from_src(import_block + body["_code"], {}), body)


def reduce_package_graph_module(importer: Any, body: dict[str, Any], generated_module_name: str) -> torch.nn.Module:
    """Make a graph module from what `torch.package` stored: its attributes and the name of the module with its code."""
    return _deserialize_graph_module(importer.import_module(generated_module_name).forward, body)


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: type[GraphModule] | None = None
) -> torch.nn.Module:
    return load(forward, body, graph_module_cls or GraphModule)


def _module_at(root: torch.nn.Module, path: str) -> torch.nn.Module | None:
    try:
        return root.get_submodule(path)
    except AttributeError:
        return None
