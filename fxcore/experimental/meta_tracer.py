"""Traces with the shapes of example inputs: values know their shapes, so reading a shape returns actual numbers.

Source: the interface and results are those of ``torch.fx.experimental.meta_tracer``.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from fxcore._symbolic_trace import Tracer
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.node import Argument, Node, Target, map_aggregate
from fxcore.proxy import Attribute, Proxy
from fxcore.tracing.patching import PatchScope
from fxcore.tracing.trace_session import current

__all__ = ["MetaAttribute", "MetaDeviceAttribute", "MetaProxy", "MetaTracer", "symbolic_trace"]
__all__ += ["gen_constructor_wrapper", "manual_meta_overrides", "proxys_to_metas"]
__all__ += ["embedding_override", "functional_relu_override", "nn_layernorm_override", "torch_abs_override"]
__all__ += ["torch_nn_relu_override", "torch_relu_override", "torch_where_override"]


def functional_relu_override(x: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """The result of ``F.relu``, with its input's shape. Raises AssertionError if ``inplace`` is set."""
    if inplace:
        raise AssertionError("shapes are not tracked through an in-place relu")
    return x


def torch_abs_override(input: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The result of ``torch.abs``, with its input's shape. Raises AssertionError if ``out`` is given."""
    if out is not None:
        raise AssertionError("shapes are not tracked through abs with an out argument")
    return input


def torch_relu_override(x: torch.Tensor) -> torch.Tensor:
    """The result of ``torch.relu``, with its input's shape."""
    return x


def embedding_override(self: torch.nn.Embedding, input: torch.Tensor) -> torch.Tensor:
    """The result of an embedding: its shape is the indices' shape followed by the embedding's width."""
    return torch.empty(*input.shape, self.weight.shape[-1], device="meta")


def torch_nn_relu_override(self: torch.nn.ReLU, x: torch.Tensor) -> torch.Tensor:
    """The result of a ReLU module, with its input's shape."""
    return x


def torch_where_override(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The result of ``torch.where``: its three inputs are broadcast, here by adding them."""
    return condition.to(device="meta") + x.to(device="meta") + y.to(device="meta")


def nn_layernorm_override(self: torch.nn.LayerNorm, input: torch.Tensor) -> torch.Tensor:
    """The result of a layer norm, with its input's shape."""
    return input


# Substitutes for functions, or for modules by class, that are called to compute the shape of a result.
manual_meta_overrides: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.abs: torch_abs_override,
    torch.nn.Embedding: embedding_override,
    torch.nn.LayerNorm: nn_layernorm_override,
    torch.nn.ReLU: torch_nn_relu_override,
    torch.nn.functional.relu: functional_relu_override,
    torch.relu: torch_relu_override,
    torch.where: torch_where_override,
}


def gen_constructor_wrapper(target: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A pair: a function that calls ``target``, or records the call if an argument is a Proxy; and ``target``."""

    @functools.wraps(target)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxies: list[Proxy] = []
        map_aggregate((args, kwargs), lambda value: proxies.append(value) if isinstance(value, Proxy) else None)
        if not proxies:
            return target(*args, **kwargs)
        return proxies[-1].tracer.create_proxy("call_function", target, args, kwargs)

    return wrapper, target


class MetaProxy(Proxy):
    """A value that may know its shape and dtype, from a tensor on the meta device that represents it."""

    _tensor_meta: torch.Tensor | None = None

    def install_tensor_meta(self, tensor_meta: torch.Tensor) -> None:
        """Take the value's shape and dtype from ``tensor_meta``, a tensor on the meta device."""
        self._tensor_meta = tensor_meta

    def size(self, dim: int | None = None) -> Any:
        """Return the size, or the size of one dimension; if it isn't known, record the call."""
        dims = () if dim is None else (dim,)
        if self._tensor_meta is not None:
            return self._tensor_meta.size(*dims)
        return self.tracer.create_proxy("call_method", "size", (self, *dims), {})

    def dim(self) -> Any:
        """Return the number of dimensions; if it isn't known, record the call."""
        if self._tensor_meta is not None:
            return self._tensor_meta.dim()
        return self.tracer.create_proxy("call_method", "dim", (self,), {})

    @property
    def shape(self) -> Any:
        """The shape, or a Proxy if the shape isn't known."""
        return self._known("shape")

    @property
    def dtype(self) -> Any:
        """The dtype, or a Proxy if the dtype isn't known."""
        return self._known("dtype")

    def _known(self, attribute: str) -> Any:
        if self._tensor_meta is not None:
            return getattr(self._tensor_meta, attribute)
        return self.tracer.create_proxy("call_function", getattr, (self, attribute), {})

    @property
    def device(self) -> "MetaDeviceAttribute":
        """The device, which is always read at run time, because the meta tensor doesn't have the real one."""
        return MetaDeviceAttribute(self, "device")

    def __getattr__(self, k: str) -> "MetaAttribute":
        return MetaAttribute(self, k)


class MetaAttribute(Attribute, MetaProxy):
    """An attribute of a value, recorded like any `Attribute`."""


class MetaDeviceAttribute(MetaAttribute):
    """The device of a value, which counts as "meta" when shapes are computed."""


def proxys_to_metas(v: Any) -> Any:
    """The substitute for ``v`` when shapes are computed: a Proxy's meta tensor, "meta" for a device, otherwise ``v``.

    Raises:
        AssertionError: the shape of the Proxy's value isn't known.
    """
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if not isinstance(v, Proxy):
        return v
    if not isinstance(v, MetaProxy) or v._tensor_meta is None:
        raise AssertionError(f"the shape of {v} is unknown")
    return v._tensor_meta


class MetaTracer(Tracer):
    """A tracer that computes the shape of every value from the shapes of the inputs.

    If ``allow_insert_stateless_mods`` is set, modules without parameters and buffers may be called without being
    submodules of the root: they get a name, for instance ``relu_0``, and are kept in the graph's constants.
    """

    allow_insert_stateless_mods: bool = True

    _TORCH_METHODS_TO_PATCH = ["arange", "zeros", "ones", "full_like", "eye"]

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """Record an operation and compute its result's shape; warn with the reason if that fails."""
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder":
            if target in self.meta_args:
                proxy.install_tensor_meta(self.meta_args[str(target)])
        elif kind != "output":
            try:
                with _not_recording():
                    proxy.install_tensor_meta(self._result(kind, target, args, kwargs))
            except Exception as error:
                warnings.warn(f"Could not compute metadata for {kind} target {target}: {error}", stacklevel=2)
        return proxy

    def _result(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operation's result for the tensors that represent its arguments."""
        metas: list[Any] = list(map_aggregate(args, proxys_to_metas))
        options: dict[str, Any] = dict(map_aggregate(kwargs, proxys_to_metas))
        if target in self.orig_fns and "device" in options:
            options["device"] = "meta"
        if kind == "call_function":
            return manual_meta_overrides.get(target, target)(*metas, **options)
        if kind == "call_method":
            return getattr(metas[0], target)(*metas[1:], **options)
        if kind == "call_module":
            override = manual_meta_overrides.get(type(self._called))
            return override(self._called, *metas, **options) if override else self.orig_forward(*metas, **options)
        value: Any = functools.reduce(getattr, target.split("."), self.root)
        if not isinstance(value, torch.Tensor):
            raise AssertionError(f"{target} must be a tensor, not {type(value)}")
        return value.to(device="meta")

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Record or trace a module's call, as `Tracer.call_module` does."""
        self._called, self.orig_forward = m, forward
        return super().call_module(m, forward, args, kwargs)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """The dotted path of a module below the root, or the name that it was given. Raises NameError if there is none.

        A module without parameters and buffers is given a name if ``allow_insert_stateless_mods`` is set.
        """
        if mod in self._inserted:
            return self._inserted[mod]
        try:
            return super().path_of_module(mod)
        except NameError:
            if not self.allow_insert_stateless_mods or [*mod.parameters(), *mod.buffers()]:
                raise
        path = self.get_fresh_qualname(f"{type(mod).__name__.lower()}_")
        self.graph.constants[path] = mod
        self._inserted[mod] = path
        return path

    def proxy(self, node: Node) -> MetaProxy:
        """The value that stands for ``node`` in the traced program."""
        return MetaProxy(node, self)

    def trace(  # type: ignore[override]
        self,
        root: torch.nn.Module | Callable[..., Any],
        meta_args: Mapping[str, torch.Tensor],
        concrete_args: Mapping[str, Any] | None = None,
    ) -> Graph:
        """Trace ``root`` with inputs of the shapes in ``meta_args``, and return the graph.

        Args:
            root: a module or a function.
            meta_args: tensors on the meta device, by the inputs' names.
            concrete_args: fixed values of parameters, as for `Tracer.trace`.
        """
        if not isinstance(meta_args, dict):
            raise AssertionError(f"meta_args must be a dict, not {type(meta_args)}")
        self.meta_args = meta_args
        self._inserted: dict[Any, str] = {}
        self.orig_fns = {getattr(torch, name) for name in self._TORCH_METHODS_TO_PATCH}
        with PatchScope() as patches:
            for name in self._TORCH_METHODS_TO_PATCH:
                patches.replace(vars(torch), name, lambda function: gen_constructor_wrapper(function)[0])
            graph = super().trace(root, concrete_args)
        graph._tracer_extras = {"meta_args": meta_args}
        return graph


@contextlib.contextmanager
def _not_recording() -> Iterator[None]:
    """Within the block, modules run as they do outside a trace."""
    session = current()
    if session is None:
        yield
        return
    recording, session.recording = session.recording, False
    try:
        yield
    finally:
        session.recording = recording


def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any],
    meta_args: dict[str, torch.Tensor] | None = None,
    concrete_args: dict[str, Any] | None = None,
) -> GraphModule:
    """Trace ``root`` with a `MetaTracer`; the arguments are those of `MetaTracer.trace`."""
    tracer = MetaTracer()
    graph = tracer.trace(root, {} if meta_args is None else meta_args, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
