"""Inputs that a program runs on, found by running it.

Shapes come from calls with literal tensors in the file, then from the module's first layers, then from habit. Around
the first that works others are made: other values, other sizes.
"""

from __future__ import annotations

import ast
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from .observation import Input, tensors_of

LEAST, MOST = 3, 10
"""How many inputs a proof takes."""

LARGEST = 1 << 22
"""Elements of a tensor that is made up."""

MOST_SHAPES = 24
"""How many shapes to try that the layers suggest."""

IMAGES = (32, 64, 224, 299)
"""How high and wide images are."""

PATTERNS = ((3, 8), (2, 5, 8), (2, 3, 32, 32), (2, 3, 64, 64), (2, 3, 224, 224), (4, 4), (6,), (1, 1, 16, 16))
"""Shapes to try where no layer says more."""

_FACTORIES = frozenset({"rand", "randn", "zeros", "ones", "full", "randint", "arange", "tensor", "empty"})
_BY_ANNOTATION: Mapping[Any, Any] = {int: 2, bool: False, float: 0.5}

Runs = Callable[[Input], bool]
"""Whether the program runs on an input to its end."""


class NoInputs(Exception):
    """Too few inputs were found."""


def find_inputs(
    root: Callable[..., Any], fixed: Mapping[str, Any], source: str, namespace: dict[str, Any], runs: Runs, until: float
) -> tuple[Input, ...]:
    """Inputs that ``runs``, at least `LEAST`. Raises `NoInputs` where so many are not found.

    ``fixed``: values of parameters that are not inputs. ``source`` and ``namespace`` are the file's; ``until`` is when
    (by ``time.monotonic``) the search ends.
    """
    generator = torch.Generator().manual_seed(0)
    for first in _candidates(root, fixed, source, namespace, generator):
        if time.monotonic() > until:
            break
        if runs(first):
            found = [first]
            for other in _around(first, root, generator):
                if len(found) == MOST or (len(found) >= LEAST and time.monotonic() > until):
                    break
                if runs(other):
                    found.append(other)
            if len(found) >= LEAST:
                return tuple(found)
    raise NoInputs


def _candidates(
    root: Callable[..., Any],
    fixed: Mapping[str, Any],
    source: str,
    namespace: dict[str, Any],
    generator: torch.Generator,
) -> Iterator[Input]:
    forward = root.forward if isinstance(root, torch.nn.Module) else root
    parameters = inspect.signature(forward).parameters
    for given in literal_calls(source, namespace):
        yield Input(given.args, {**given.kwargs, **fixed})
    wanted = [
        parameter
        for name, parameter in parameters.items()
        if name not in fixed and parameter.default is parameter.empty and parameter.kind not in (2, 4)
    ]
    for make in _makers(root, generator):
        yield Input((), {**{parameter.name: _value(parameter, make) for parameter in wanted}, **fixed})


def _value(parameter: inspect.Parameter, make: Callable[[], torch.Tensor]) -> Any:
    annotation = parameter.annotation
    by_name = next((value for cls, value in _BY_ANNOTATION.items() if annotation in (cls, cls.__name__)), None)
    return make() if by_name is None else by_name


def _makers(root: Callable[..., Any], generator: torch.Generator) -> Iterator[Callable[[], torch.Tensor]]:
    """What makes tensors of a shape and type that the program may take, the likeliest first."""
    modules = list(root.modules()) if isinstance(root, torch.nn.Module) else []
    for module in modules:
        if isinstance(count := getattr(module, "num_embeddings", None), int):
            yield partial(torch.randint, count, (2, 7), generator=generator)
    shapes = [shape for module in modules for shape in _shapes_for(module)]
    for shape in dict.fromkeys([*shapes[:MOST_SHAPES], *PATTERNS]):
        yield partial(torch.randn, shape, generator=generator)
    yield partial(torch.randint, 4, (2, 7), generator=generator)


def _shapes_for(module: torch.nn.Module) -> list[tuple[int, ...]]:
    """The shapes that a layer which says how wide its input is may take."""
    if isinstance(channels := getattr(module, "in_channels", None), int):
        dims = len(getattr(module, "kernel_size", None) or (1, 1))
        return [(2, channels, *([size] * dims)) for size in IMAGES]
    widths = (getattr(module, name, None) for name in ("in_features", "input_size", "embed_dim", "num_features"))
    width = next((width for width in widths if isinstance(width, int)), None)
    if width is not None:
        return [(3, width), (2, 5, width), (2, width, 8, 8), (2, 4, 4, width)]
    normalized = getattr(module, "normalized_shape", None)
    return [(3, *normalized), (2, 5, *normalized)] if normalized else []


def literal_calls(source: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """The arguments of the calls in ``source`` that are given tensors made of literals: ``net(torch.randn(2, 3))``."""
    tree = ast.parse(source)
    made = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_factory(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        args = [_made(argument, made) for argument in call.args]
        kwargs = {str(keyword.arg): _made(keyword.value, made) for keyword in call.keywords}
        values = [*args, *kwargs.values()]
        if any(map(_is_factory, values)) and all(value is not None for value in values):
            try:
                torch.manual_seed(0)
                yield Input(
                    tuple(_run(arg, namespace) for arg in args), {k: _run(v, namespace) for k, v in kwargs.items()}
                )
            except Exception:  # whatever it reads is not there, or not what the text seems to say
                continue


def _made(node: ast.expr, made: Mapping[str, ast.expr]) -> ast.expr | None:
    """The expression that makes the value of ``node``: a tensor's factory, or a literal."""
    if isinstance(node, ast.Name):
        return made.get(node.id)
    return node if isinstance(node, ast.Constant) or _is_factory(node) else None


def _is_factory(node: ast.expr | None) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=args):
            return name in _FACTORIES and all(_is_literal(argument) for argument in args)
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _run(node: ast.expr | None, namespace: dict[str, Any]) -> Any:
    assert node is not None
    return eval(compile(ast.Expression(node), "<input>", "eval"), {"torch": torch, **namespace})


def _around(first: Input, root: Callable[..., Any], generator: torch.Generator) -> Iterator[Input]:
    """Like ``first``, with other values and other sizes."""
    yield _changed(first, generator, torch.abs)
    yield _changed(first, generator, lambda tensor: -torch.abs(tensor))
    tensors = tensors_of([*first.args, *first.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    longest = _longest_weight(root)
    for dim, size in enumerate(shape):
        for other in dict.fromkeys((1, size + 1, 2 * size, longest + 1)):
            if other != size and shape.numel() // max(size, 1) * other <= LARGEST:
                yield _changed(first, generator, resize=(dim, size, other))
    yield _changed(first, generator, torch.zeros_like)
    yield _changed(first, generator)
    yield _changed(first, generator, lambda tensor: 100 * tensor if tensor.is_floating_point() else tensor)


def _longest_weight(root: Callable[..., Any]) -> int:
    """The largest size that a buffer or a weight has: behind it ends what is cut out of one."""
    if not isinstance(root, torch.nn.Module):
        return 1
    sizes = [size for tensors in (root.buffers(), root.parameters()) for tensor in tensors for size in tensor.shape]
    return max(sizes, default=1)


def _changed(
    first: Input,
    generator: torch.Generator,
    change: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    resize: tuple[int, int, int] = (0, 0, 0),
) -> Input:
    """``first`` with other random values, changed; with ``resize`` (dimension, old size, new size) where it has that
    size there: inputs share a batch or a length."""
    dim, old, new = resize

    def changed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(changed, value))
        if not isinstance(value, torch.Tensor):
            return value
        shape = tuple(new if at == dim and size == old else size for at, size in enumerate(value.shape))
        return change(_like(value, shape, generator))

    return Input(tuple(map(changed, first.args)), {name: changed(value) for name, value in first.kwargs.items()})


def _like(tensor: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Random values of the same type and, where they are whole numbers, of the same range."""
    if tensor.is_floating_point() or tensor.is_complex():
        return torch.randn(tuple(shape), generator=generator, dtype=tensor.dtype)
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(tensor.dtype)
