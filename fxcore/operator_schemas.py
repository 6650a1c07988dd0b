"""The signatures of PyTorch's operators, and the normalization of calls to them.

Source: the interface and results are those of ``torch.fx.operator_schemas``.
"""

import enum
import inspect
import numbers
import types
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Literal, NamedTuple, TypeVar, overload

import torch

from fxcore import torch_compat
from fxcore.torch_compat import Argument, FunctionSchema, OpOverload, OpOverloadPacket

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """A call's positional and keyword arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _nonzero(self: torch.Tensor) -> None: ...


def _nonzero_as_tuple(self: torch.Tensor, *, as_tuple: bool) -> None: ...


# Signatures of functions that no schema describes.
_manual_overrides: dict[Callable[..., Any], list[Signature]] = {
    torch.nonzero: [inspect.signature(_nonzero), inspect.signature(_nonzero_as_tuple)],
}

# Maps the names in the text of a TorchScript type to Python objects.
_TYPE_NAMES: dict[str, Any] = {
    **{name: getattr(typing, name) for name in dir(typing)},
    "AnyEnumType": enum.Enum,
    "Device": torch.device,
    "Future": torch.jit.Future,
    "Layout": torch.layout,
    "NoneType": type(None),
    "PyObject": Any,
    "QScheme": torch.qscheme,
    "Storage": torch.UntypedStorage,
    "Tensor": torch.Tensor,
    "__torch__": types.SimpleNamespace(torch=torch),
    "number": numbers.Number,
    "t": TypeVar("t"),
}

_SIGNATURES: dict[tuple[str, str], Signature] = {}


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """The Python type for a TorchScript type (a ``JitType`` of torch), for instance ``List[Tensor]``."""
    return eval(ts_type.annotation_str, _TYPE_NAMES)


def _parameters(arguments: Sequence[Argument]) -> list[Parameter]:
    """An operator's arguments as parameters, under the names that the Python bindings give them.

    The parameters up to and including one named ``from`` are positional-only: ``from`` is a keyword of Python, so
    nothing can be passed by that name.
    """
    last = max((index for index, argument in enumerate(arguments) if argument.name == "from"), default=-1)
    return [_parameter(argument, index <= last) for index, argument in enumerate(arguments)]


def _parameter(argument: Argument, positional_only: bool) -> Parameter:
    kind = Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(
        "input" if argument.name == "self" else argument.name,
        Parameter.POSITIONAL_ONLY if positional_only else kind,
        default=argument.default_value if argument.has_default_value() else Parameter.empty,
        annotation=_torchscript_type_to_python_type(argument.type),
    )


def _torchscript_schema_to_signature(ts_schema: FunctionSchema) -> Signature:
    """An operator's schema as a Python signature, which is cached."""
    key = ts_schema.name, ts_schema.overload_name
    if key not in _SIGNATURES:
        returns = [_torchscript_type_to_python_type(result.type) for result in ts_schema.returns]
        annotation = (returns[0] if returns else None) if len(returns) < 2 else tuple(returns)
        _SIGNATURES[key] = Signature(_parameters(ts_schema.arguments), return_annotation=annotation)
    return _SIGNATURES[key]


@overload
def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: Literal[True]
) -> tuple[list[Signature] | None, list[FunctionSchema] | None]: ...


@overload
def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: Literal[False] = ...
) -> list[Signature] | None: ...


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of the overloads of an operator of ``torch`` or ``torch.ops``.

    Returns:
        A list of signatures, or None if there are none. With ``return_schemas`` a pair: that list, and the list of the
        schemas that the signatures were made from, or None.
    """
    signatures: list[Signature] | None = None
    schemas: list[FunctionSchema] | None = None
    if not isinstance(op, OpOverload | OpOverloadPacket) and op in _manual_overrides:
        # torch.fx returns None unless schemas are requested; programs rely on this to leave torch.nonzero alone.
        signatures = _manual_overrides[op] if return_schemas else None
    else:
        schemas = torch_compat.schemas_of(op)
        signatures = None if schemas is None else [_torchscript_schema_to_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _binds(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise RuntimeError if the only overload that the call fits writes to its operands.

    A call that fits several overloads, or none, passes: the check can't tell which overload is meant.
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures or not schemas:
        return
    fitting = [schema for signature, schema in zip(signatures, schemas, strict=True) if _binds(signature, args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(f"Tried to trace mutable operation {fitting[0]}: only functional code can be traced.")


def create_type_hint(x: object) -> object:
    """The type hint for a value's type or for a list or tuple of types.

    A list or tuple of types becomes ``list[T]`` or ``tuple[T, ...]``, where T is the type among them that all the
    others are subclasses of, or Any if there is none. Anything else is returned unchanged, with a warning if it is a
    list or tuple that contains something other than types.
    """
    if not isinstance(x, list | tuple):
        return x
    try:
        widest = _widest(x)
    except TypeError:
        warnings.warn(f"{x} can't be converted to a type hint", stacklevel=2)
        return x
    return list[widest] if isinstance(x, list) else tuple[widest, ...]  # type: ignore[valid-type]


def _widest(classes: Sequence[Any]) -> Any:
    widest = classes[0] if classes else Any
    for each in classes:
        if issubclass(each, widest):
            continue
        if not issubclass(widest, each):
            return Any
        widest = each
    return widest


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of ``argument_type`` may be passed for a parameter annotated ``signature_type``."""
    origin = getattr(signature_type, "__origin__", signature_type)
    if signature_type is argument_type:
        return True
    if origin is typing.Union and signature_type != argument_type:
        return any(type_matches(choice, argument_type) for choice in typing.get_args(signature_type))
    if getattr(signature_type, "__origin__", None) is list:
        return _matches_list(typing.get_args(signature_type)[0], signature_type, argument_type)
    accepted: dict[Any, Any] = {int: {torch.dtype}, numbers.Number: {int, float}}  # schemas declare dtypes as ints
    if signature_type in accepted and argument_type in accepted[signature_type]:
        return True
    both_classes = inspect.isclass(signature_type) and inspect.isclass(argument_type)
    return both_classes and issubclass(argument_type, signature_type)


def _matches_list(element: Any, signature_type: Any, argument_type: Any) -> bool:
    """Whether ``argument_type`` is a list or tuple of ``element``, or an int where a list of ints is expected."""
    if argument_type is int and element is int:
        return True
    if not inspect.isclass(element):
        warnings.warn(f"lists of parameterized types can't be compared: {signature_type}", stacklevel=3)
        return False
    if getattr(argument_type, "__origin__", None) is list:
        return issubclass(typing.get_args(argument_type)[0], element)
    if typing.get_origin(argument_type) is not tuple:
        return False
    contained = typing.get_args(argument_type)
    return contained == ((),) or all(each is Ellipsis or issubclass(each, element) for each in contained)


def _normalize_function_or_error(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair:
    """Like `normalize_function`, but raises RuntimeError instead of returning None."""
    pair = normalize_function(target, args, kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
    if pair is None:
        raise RuntimeError(f"Failed to normalize function {target} with args {args} and kwargs {kwargs}")
    return pair


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """A call's arguments in the order of the function's signature, defaults filled in.

    Args:
        target: the function: an operator or a builtin function of torch, or a Python function.
        args: its positional arguments.
        kwargs: its keyword arguments.
        arg_types: the types of ``args``; these and ``kwarg_types`` choose between several overloads that fit.
        kwarg_types: the types of ``kwargs``.
        normalize_to_only_use_kwargs: return every argument by name; otherwise, the first ``len(args)`` are positional.

    Returns:
        The arguments, or None if the function has no usable signature: no overload fits, or the signature has
        positional-only or variadic parameters.

    Raises:
        RuntimeError: several overloads fit and no types are given.
        TypeError: a Python function can't be called like this.
    """
    kwargs = {} if kwargs is None else kwargs
    if not _has_overloads(target) and hasattr(target, "_op"):
        target = target._op  # an operator of another dialect that wraps an operator of torch
    if _has_overloads(target):
        signature = _fitting_overload(target, args, kwargs, arg_types, kwarg_types)
    else:
        signature = _python_signature(target)
    if signature is None:
        return None
    return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs, normalize_to_only_use_kwargs)


def _has_overloads(target: Callable[..., Any]) -> bool:
    return isinstance(target, types.BuiltinFunctionType | OpOverload | OpOverloadPacket)


def _python_signature(target: Callable[..., Any]) -> Signature | None:
    """The signature of a Python function, or None if it forwards to one of two functions whose parameters differ."""
    if target in torch_compat.boolean_dispatched:
        choices = torch_compat.boolean_dispatched[target]
        if_true, if_false = choices["if_true"], choices["if_false"]
        if inspect.signature(if_true).parameters != inspect.signature(if_false).parameters:
            return None
        target = if_true
    return inspect.signature(inspect.unwrap(target))


def _fitting_overload(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arg_types: tuple[Any, ...] | None,
    kwarg_types: dict[str, Any] | None,
) -> Signature | None:
    """The signature of the overload that the call fits; if several fit, the types of the arguments decide."""
    signatures = get_signature_for_torch_op(target) or []
    fitting = [signature for signature in signatures if _binds(signature, args, kwargs)]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    if arg_types is None and kwarg_types is None:
        listing = "\n".join(map(str, fitting))
        raise RuntimeError(
            f"The call to {torch.typename(target)} fits several overloads; give the types of its arguments to choose "
            f"between:\n{listing}"
        )
    return next((each for each in signatures if _types_match(each, arg_types or (), kwarg_types or {})), None)


def _types_match(signature: Signature, arg_types: tuple[Any, ...], kwarg_types: dict[str, Any]) -> bool:
    if not _binds(signature, arg_types, kwarg_types):
        return False
    bound = signature.bind(*arg_types, **kwarg_types).arguments
    return all(type_matches(signature.parameters[name].annotation, given) for name, given in bound.items())


def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call to the submodule ``target`` of ``root``, normalized as by `normalize_function`.

    Returns:
        The arguments, or None if the submodule's class isn't one of ``torch.nn``, or its ``forward`` has
        positional-only or variadic parameters.

    Raises:
        RuntimeError: ``root`` has no such submodule.
    """
    try:
        submodule = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    cls = type(submodule)
    if getattr(torch.nn, cls.__name__, None) is not cls:
        return None
    signature = inspect.signature(inspect.unwrap(submodule.forward))
    return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _args_kwargs_to_normalized_args_kwargs(
    sig: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], normalize_to_only_use_kwargs: bool
) -> ArgsKwargsPair | None:
    """The call's arguments in ``sig``'s order, or None if ``sig`` has positional-only or variadic parameters."""
    named = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    all_named = all(parameter.kind in named for parameter in sig.parameters.values())
    # torch.Tensor.uniform_ and random_ are exempt: a call can still pass "from" by name, by unpacking a dict with **.
    if not all_named and list(sig.parameters) != ["input", "from", "to", "generator"]:
        return None
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    values = [(name, bound.arguments[name]) for name in sig.parameters]
    by_position = 0 if normalize_to_only_use_kwargs else len(args)
    return ArgsKwargsPair(tuple(value for _, value in values[:by_position]), dict(values[by_position:]))
