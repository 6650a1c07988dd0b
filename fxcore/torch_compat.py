"""All uses of torch's private names, collected here so that only this module depends on the version of torch."""

from __future__ import annotations

import contextlib
import copy
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch._C import Argument, FunctionSchema
from torch._C import ScriptMethod as _ScriptMethod
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch._jit_internal import boolean_dispatched as _boolean_dispatched
from torch._library.fake_class_registry import FakeScriptObject
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode
from torch.amp.autocast_mode import _enter_autocast as enter_autocast
from torch.amp.autocast_mode import _exit_autocast as exit_autocast
from torch.utils import _pytree as torch_pytree
from torch.utils import checkpoint as _checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

# Missing in versions of torch before 2.9.
opaque_object: Any = sys.modules.get("torch._library.opaque_object")
_is_impure: Any = getattr(torch._library.utils, "is_impure", None)


def _opaque_check(name: str, before_2_14: str) -> Callable[[type], bool]:
    """A function of ``opaque_object``; the older name still exists in torch 2.14, but logs a warning at each call."""
    found = name if hasattr(opaque_object, name) else before_2_14
    check: Callable[[type], bool] = getattr(opaque_object, found, lambda cls: False)
    return check


_is_opaque_constant = _opaque_check("is_opaque_constant_type", "is_opaque_value_type")
_is_opaque_symbolic = _opaque_check("is_opaque_symbolic_type", "is_opaque_reference_type")

__all__ = [
    "CHECKPOINT_GLOBALS",
    "CHECKPOINT_STEP",
    "CONSTANT_TYPES",
    "MODULE_REGISTRATION_HOOKS",
    "RECORD_FUNCTION",
    "Argument",
    "DispatchMode",
    "FakeScriptObject",
    "FakeTensorMode",
    "FunctionSchema",
    "HigherOrderOperator",
    "OpOverload",
    "OpOverloadPacket",
    "OpaqueValue",
    "ScriptMethod",
    "boolean_dispatched",
    "children_of",
    "compile_lazy_graph_module",
    "deepcopy_to_fake",
    "detect_fake_mode",
    "dtype_abbrs",
    "enable_python_dispatcher",
    "enter_autocast",
    "exit_autocast",
    "functions_wrapped_by_torch_fx",
    "has_internal_overlap",
    "is_context_decorator",
    "is_fake_tensor",
    "is_impure_operator",
    "is_opaque_reference",
    "is_opaque_value",
    "is_operator",
    "is_placeholder_of_torch_fx",
    "is_proxy_of_torch_fx",
    "is_proxyable_for_torch_fx",
    "methods_wrapped_by_torch_fx",
    "opaque_value",
    "overloads_of",
    "random_is_impure",
    "register_dict_like",
    "register_list_like",
    "reset_nested_tensor_ids",
    "schemas_of",
    "script_type_of",
    "set_grad_enabled",
    "side_effectful_functions",
    "torch_fx_class",
    "torch_fx_symbolic_trace",
    "torch_pytree",
    "tracing_flag_of_torch_fx",
]


class DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that isn't hidden from torch.compile: hiding it imports the compiler, which takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


def register_list_like(cls: type, make: Callable[[Any], Any], name: str) -> None:
    """Register ``cls``, a subclass of list, as a container in torch's pytrees.

    ``make(items)`` creates an instance, and ``name`` identifies the class in a serialized structure.
    """
    torch_pytree.register_pytree_node(
        cls,
        lambda value: (list(value), None),
        lambda items, context: make(items),
        serialized_type_name=name,
        flatten_with_keys_fn=lambda value: (
            [(torch_pytree.SequenceKey(index), item) for index, item in enumerate(value)],
            None,
        ),
    )


def register_dict_like(cls: type, make: Callable[[Any], Any], name: str) -> None:
    """Register ``cls``, a subclass of dict, as a container in torch's pytrees.

    ``make(items)`` creates an instance from a dict, and ``name`` identifies the class in a serialized structure.
    """
    torch_pytree.register_pytree_node(
        cls,
        lambda value: (list(value.values()), list(value)),
        lambda items, keys: make(dict(zip(keys, items, strict=True))),
        serialized_type_name=name,
        flatten_with_keys_fn=lambda value: (
            [(torch_pytree.MappingKey(key), item) for key, item in value.items()],
            list(value),
        ),
    )


# Functions of torch.nn.functional that forward to one of two others ("if_true", "if_false"), depending on a boolean.
boolean_dispatched: Mapping[Callable[..., Any], Mapping[str, Callable[..., Any]]] = _boolean_dispatched

# Graphs call this function to change a global state, as they call enter_autocast and exit_autocast.
set_grad_enabled: Callable[[bool], None] = torch._C._set_grad_enabled


def has_internal_overlap(tensor: torch.Tensor) -> bool:
    """Whether elements of a tensor certainly share memory, as those of an expanded tensor do."""
    return torch._debug_has_internal_overlap(tensor) == 1


def schemas_of(op: Callable[..., Any]) -> list[FunctionSchema] | None:
    """The schemas of an operator, one for each overload; None if torch doesn't know ``op``."""
    if isinstance(op, OpOverload):
        return [op._schema]
    if isinstance(op, OpOverloadPacket):
        return [variant._schema for variant in overloads_of(op)]
    name = torch.jit._builtins._find_builtin(op)  # type: ignore[no-untyped-call]
    return None if name is None else torch._C._jit_get_schemas_for_operator(name)


def overloads_of(packet: OpOverloadPacket[Any, Any]) -> list[OpOverload[Any, Any]]:
    """The overloads in ``packet``, which share one name; torch before 2.8 lists only the names of the overloads."""
    return [getattr(packet, name) for name in packet.overloads()]  # type: ignore[no-untyped-call]


def script_type_of(value: object) -> Any:
    """The TorchScript type of a value, written out in its ``annotation_str``; None if the value has no such type."""
    inferred = torch._C._jit_try_infer_type(value)
    return inferred.type() if inferred.success() else None


# The hooks that are called whenever any module gets a child.
MODULE_REGISTRATION_HOOKS = torch.nn.modules.module._global_module_registration_hooks

# The context manager that generated code enters to have the profiler record a span of time.
RECORD_FUNCTION = "torch._C._profiler._RecordFunctionFast"


def _dtype_abbreviations() -> dict[torch.dtype, str]:
    try:
        from torch.utils._dtype_abbrs import dtype_abbrs as abbreviations
    except ImportError:  # before torch 2.8
        abbreviations = vars(sys.modules["torch.fx.graph"])["dtype_abbrs"]
    return abbreviations


dtype_abbrs = _dtype_abbreviations()
"""Maps dtypes to the abbreviations that torch prints in graphs, such as ``f32`` and ``i64``."""


def children_of(spec: torch_pytree.TreeSpec) -> list[torch_pytree.TreeSpec]:
    """The specs of the items of the container that ``spec`` describes."""
    if hasattr(spec, "children"):
        return list(spec.children())
    return spec.children_specs  # before torch 2.9


def side_effectful_functions() -> list[Callable[..., Any]]:
    """The functions of torch whose calls must be kept even if their results aren't used."""
    paths = (
        "_assert _assert_async _C._set_grad_enabled amp._enter_autocast amp._exit_autocast ops.aten._assert_async.msg "
        "ops.aten._assert_scalar.default ops.aten._assert_tensor_metadata.default ops.aten.sym_constrain_range.default "
        "ops.aten.sym_constrain_range_for_size.default ops.profiler._record_function_enter "
        "ops.profiler._record_function_enter.default ops.profiler._record_function_enter_new "
        "ops.profiler._record_function_enter_new.default ops.profiler._record_function_exit "
        "ops.profiler._record_function_exit._RecordFunction ops.inductor.accumulate_grad_.default "
        "ops.inductor.resize_storage_bytes_.default"
    )
    found = []
    for path in paths.split():
        with contextlib.suppress(AttributeError):
            found.append(operator.attrgetter(path)(torch))
    return found


def is_impure_operator(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], impure_random: bool
) -> bool:
    """Whether torch knows that ``function`` has an effect: it writes to an argument or draws random numbers."""
    if _is_impure is not None:
        return bool(_is_impure(function, args=args, kwargs=kwargs, impure_random=impure_random))
    schema = getattr(function, "_schema", None)
    return (schema is not None and schema.is_mutable) or (
        impure_random and bool(getattr(function, "_nondeterministic_seeded", False))
    )


def random_is_impure() -> bool:
    """Whether dead-code elimination keeps unused random numbers; it does, unless a running compiler opts out."""
    if torch._guards.TracingContext.try_get() is None:
        return True
    return bool(torch._inductor.config.fallback_random)


def is_operator(value: object) -> bool:
    """Whether ``value`` is an operator of ``torch.ops``, in a form that can be an argument in a graph."""
    return isinstance(value, OpOverload | HigherOrderOperator)


def is_fake_tensor(value: object) -> bool:
    """Whether ``value`` is a fake tensor, which has a dtype and a shape but no data."""
    return isinstance(value, torch._subclasses.FakeTensor)


def deepcopy_to_fake(module: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """A copy of a module whose parameters and buffers are fake tensors of ``mode``."""
    with FakeCopyMode(mode):
        return copy.deepcopy(module)


def reset_nested_tensor_ids(mode: FakeTensorMode) -> None:
    """Make ``mode`` restart its numbering of nested tensors; torch before 2.5 doesn't number them."""
    if hasattr(mode, "reset_nt_tensor_id_counter"):
        mode.reset_nt_tensor_id_counter()


class OpaqueValue(NamedTuple):
    """The source code for an object that torch allows as a constant in a graph."""

    source: str
    """The expression that creates the object."""
    types: dict[str, type]
    """The classes that the expression mentions, by their names in it."""


def opaque_value(value: object) -> OpaqueValue | None:
    """The source code for an object of a class registered with torch as an opaque value; None for any other object."""
    if not _is_opaque_constant(type(value)):
        return None
    return OpaqueValue(*opaque_object.get_opaque_obj_repr(value))


def torch_fx_symbolic_trace() -> dict[str, Any] | None:
    """The globals of ``torch.fx._symbolic_trace``, such as the wrapped functions; None if torch hasn't loaded it."""
    module = sys.modules.get("torch.fx._symbolic_trace")
    return None if module is None else vars(module)


def tracing_flag_of_torch_fx() -> tuple[dict[str, Any], str] | None:
    """Where torch.fx keeps whether it is tracing: a namespace and a name in it; None if torch.fx isn't loaded.

    Up to torch 2.13 that is a global of the process, and since then one of each thread. Raises AttributeError if this
    version of torch has neither.
    """
    module = sys.modules.get("torch.fx._symbolic_trace")
    if module is None:
        return None
    if hasattr(module, "_is_fx_tracing_flag"):
        return vars(module), "_is_fx_tracing_flag"
    of_thread = vars(module._is_fx_tracing_tls)
    of_thread.setdefault("flag", False)
    return of_thread, "flag"


def functions_wrapped_by_torch_fx() -> dict[tuple[int, str], dict[str, Any]]:
    """A copy of `registry_of_torch_fx`."""
    return dict(registry_of_torch_fx())


def registry_of_torch_fx() -> dict[tuple[int, str], dict[str, Any]]:
    """The functions passed to ``torch.fx.wrap``: maps the id of a module's globals and a name there to the globals."""
    registry: dict[tuple[int, str], dict[str, Any]] = (torch_fx_symbolic_trace() or {}).get("_wrapped_fns_to_patch", {})
    return registry


def methods_wrapped_by_torch_fx() -> list[tuple[type, str]]:
    """The methods that torch.fx records as calls: the class and the name of each."""
    return list((torch_fx_symbolic_trace() or {}).get("_wrapped_methods_to_patch", ()))


def is_proxyable_for_torch_fx(cls: type) -> bool:
    """Whether a class has torch.fx's ``ProxyableClassMeta``."""
    return cls in (torch_fx_symbolic_trace() or {}).get("_proxyable_classes", ())


def is_placeholder_of_torch_fx(value: object) -> bool:
    """Whether a value is a placeholder of torch.fx, such as ``PH``, which stands for an input in ``concrete_args``."""
    placeholder: type | None = (torch_fx_symbolic_trace() or {}).get("PHBase")
    return placeholder is not None and isinstance(value, placeholder)


def torch_fx_class(name: str, otherwise: type) -> type:
    """The class ``name`` of ``torch.fx.proxy``, for programs that test for it; ``otherwise`` if that isn't loaded."""
    found: type = getattr(sys.modules.get("torch.fx.proxy"), name, otherwise)
    return found


def is_proxy_of_torch_fx(value: object) -> bool:
    """Whether the type of a value is torch.fx's own ``Proxy``; fxcore's proxies report the same class to isinstance."""
    proxy = torch_fx_class("Proxy", type(None))
    return issubclass(type(value), proxy)


def compile_lazy_graph_module(module: torch.nn.Module) -> None:
    """Generate the forward of a lazy torch.fx GraphModule, whose stand-in for a forward can't be traced."""
    lazy = sys.modules.get("torch.fx._lazy_graph_module")
    if lazy is not None:
        lazy._LazyGraphModule.force_recompile(module)


# torch.utils.checkpoint either applies an autograd function, or calls this function of its own module.
CHECKPOINT_GLOBALS: dict[str, Any] = vars(_checkpoint)
CHECKPOINT_STEP = next(
    name
    for name in ("_checkpoint_without_reentrant_generator_impl", "_checkpoint_without_reentrant_generator")
    if name in CHECKPOINT_GLOBALS  # the first since torch 2.14, which keeps the second only for other callers
)


def is_context_decorator(code: CodeType) -> bool:
    """Whether ``code`` belongs to torch's decorators that enter a mode, such as ``@torch.no_grad()``."""
    return code.co_filename in (torch.utils._contextlib.__file__, torch.amp.autocast_mode.__file__)


ScriptMethod: Any = _ScriptMethod
"""The class of methods compiled by TorchScript: ``owner`` is the object of a method, ``name`` its name."""

CONSTANT_TYPES: tuple[type, ...] = (torch.Tensor, torch.ScriptObject, FakeScriptObject, torch_pytree.TreeSpec)
"""The types of objects that a traced program may use besides its inputs: such constants are kept in the graph."""


def is_opaque_reference(value: object) -> bool:
    """Whether a value's class was registered with torch as opaque, to be passed by reference."""
    return _is_opaque_symbolic(type(value))


def is_opaque_value(value: object) -> bool:
    """Whether a value's class was registered with torch as opaque, to be written into graphs."""
    return _is_opaque_constant(type(value))


def compiler_marks() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the functions that give torch.compile hints about a tensor and that reject anything except a real tensor.

    Each is yielded as a pair: the globals of ``torch._dynamo``, where programs find it, and its name. If torch.compile
    isn't loaded, nothing is yielded.
    """
    module = sys.modules.get("torch._dynamo")
    for name in ("mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic"):
        if hasattr(module, name):
            yield vars(module), name
