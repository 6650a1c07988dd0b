"""Inputs that a program runs on, found by running it.

Candidates come from the recipe, then from calls with literal tensors in the file, from the module's layers, and last
from a list of common shapes. The first candidate that works is varied: other values, other sizes.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.building.random_seeds import seed
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fxcore.explore.guess_inputs import guesses

LEAST, MOST = 3, 10
"""The minimum and the maximum number of inputs that a proof uses."""

LARGEST = 1 << 22
"""The maximum number of elements that a resized tensor may have."""

MOST_GUESSES = 24
"""How many of the inputs that the layers suggest are tried."""

SIDES = (64, 224, 32, 299)
"""Image sizes in pixels to try if nothing in a module determines the size."""

SHAPES = ((3, 8), (2, 5, 8), (2, 3, 32, 32), (2, 3, 64, 64), (2, 3, 224, 224), (4, 4), (6,), (1, 1, 16, 16))
"""Shapes to try if the layers suggest nothing that works."""

_FACTORIES = frozenset({"rand", "randn", "zeros", "ones", "full", "randint", "arange", "tensor", "empty"})
_BY_ANNOTATION: Mapping[Any, Any] = {int: 2, bool: False, float: 0.5}

Runs = Callable[[Input], bool]
"""Whether the program runs to its end on an input."""


class NoInputs(Exception):
    """Too few inputs were found."""


def find_inputs(
    candidates: Iterator[Input],
    around: Callable[[Input], Iterator[Input]],
    runs: Runs,
    missed: Callable[[], int],
    until: float,
    seconds: float,
) -> tuple[Input, ...]:
    """`LEAST` to `MOST` inputs for which ``runs`` is true: one of ``candidates``, and variations ``around`` it.

    ``missed`` returns how much of the code to cover has not been run yet. The search ends at ``until`` (by
    ``time.monotonic``). Once the runs on the inputs found have taken more than ``seconds`` of processor time, an input
    is added only if it covers more code. Raises `NoInputs` if too few inputs are found.
    """
    for first in candidates:
        if time.monotonic() > until:
            break
        found: list[Input] = []
        took = 0.0
        for given in itertools.chain([first], around(first)):
            left, began = missed(), time.process_time()
            if runs(given):
                took += time.process_time() - began
                if len(found) < LEAST or took <= seconds or missed() < left:
                    found.append(given)
            enough = len(found) >= LEAST and (time.monotonic() > until or (took > seconds and not missed()))
            if not found or enough or len(found) == MOST:
                break
        if len(found) >= LEAST:
            return tuple(found)
    raise NoInputs


def candidates(
    root: Callable[..., Any], fixed: Mapping[str, Any], known: Input | None, source: str, namespace: dict[str, Any]
) -> Iterator[Input]:
    """Inputs that ``root`` may accept, the likeliest first.

    ``fixed`` has the values of parameters that are not inputs, ``known`` is an input that the recipe names. ``source``
    and ``namespace`` are the file's: the arguments of any call in it may fit, too.
    """
    for given in itertools.chain([known] if known else [], literal_calls(source, namespace)):
        yield Input(given.args, {**given.kwargs, **fixed})
    generator = torch.Generator().manual_seed(0)
    flags, names = _required(inspect.signature(forward_of(root)).parameters, fixed)
    guessed = itertools.islice(_distinct(guesses(root, {**flags, **fixed}, sides=SIDES)), MOST_GUESSES)
    counts = _token_counts(root)
    for guess in itertools.chain(guessed, _habits(names)):
        whole = any(not tensor.is_floating_point() for tensor in tensors_of(guess.values()))
        for count in counts if whole else counts[:1]:
            yield Input((), {**map_tensors(partial(_real, count=count, generator=generator), guess), **flags, **fixed})


def _required(
    parameters: Mapping[str, inspect.Parameter], fixed: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Values for the required parameters annotated as ``int``, ``bool`` or ``float``, and the names of the others."""
    flags: dict[str, Any] = {}
    names = []
    for name, parameter in parameters.items():
        if name in fixed or parameter.default is not parameter.empty or parameter.kind in (2, 4):
            continue
        known = [cls for cls in _BY_ANNOTATION if parameter.annotation in (cls, cls.__name__)]
        if known:
            flags[name] = _BY_ANNOTATION[known[0]]
        else:
            names.append(name)
    return flags, names


def _distinct(guessed: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for guess in guessed:
        if (shown := repr(guess)) not in seen:
            seen.add(shown)
            yield guess


def _habits(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        yield {name: torch.empty(shape, device="meta") for name in names}
    yield {name: torch.ones(2, 7, dtype=torch.long, device="meta") for name in names}


def _token_counts(root: Callable[..., Any]) -> list[int]:
    """The vocabulary size of each embedding; 4 if there is no embedding."""
    modules = root.modules() if isinstance(root, torch.nn.Module) else []
    counts = [module.num_embeddings for module in modules if isinstance(module, torch.nn.Embedding)]
    return list(dict.fromkeys(counts)) or [4]


def _real(tensor: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """A tensor of random values with the shape and dtype of ``tensor``; integers are less than ``count``."""
    if tensor.is_floating_point():
        return _random(tensor.shape, tensor.dtype, generator)
    return torch.randint(count, tensor.shape, generator=generator).to(tensor.dtype)


def literal_calls(source: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """The arguments of those calls in ``source`` that pass tensors made from literals: ``net(torch.randn(2, 3))``."""
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
                seed()
                yield Input(
                    tuple(_run(arg, namespace) for arg in args), {k: _run(v, namespace) for k, v in kwargs.items()}
                )
            except Exception:  # what the call reads may be missing, or not be what the text suggests
                continue


def _made(node: ast.expr, made: Mapping[str, ast.expr]) -> ast.expr | None:
    """The expression (a call of a tensor factory, or a literal) that creates ``node``'s value; None if unknown."""
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


def around(first: Input, root: Callable[..., Any]) -> Iterator[Input]:
    """Variations of ``first``, with other values and other sizes."""
    generator = torch.Generator().manual_seed(1)
    yield _changed(first, generator, torch.abs)
    tensors = tensors_of([*first.args, *first.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    if shape and shape[0] > 1:
        yield _changed(first, generator, resize=(0, shape[0], 1))
    yield _changed(first, generator, lambda tensor: -torch.abs(tensor))
    longest = _longest_weight(root)
    for dim, size in enumerate(shape):
        for other in dict.fromkeys((size + 1, 2 * size, longest + 1, *([1] if dim else []))):
            if other != size and shape.numel() // max(size, 1) * other <= LARGEST:
                yield _changed(first, generator, resize=(dim, size, other))
    yield _changed(first, generator, torch.zeros_like)
    yield _changed(first, generator)
    yield _changed(first, generator, lambda tensor: 100 * tensor if tensor.is_floating_point() else tensor)


def _longest_weight(root: Callable[..., Any]) -> int:
    """The largest size of any dimension of a buffer or weight; slices of these come out short for a longer input."""
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
    """``first`` with other random values, to which ``change`` is applied.

    ``resize`` is (dimension, old size, new size). It applies to every tensor that has the old size in that dimension,
    since inputs often share a batch size or a length.
    """
    dim, old, new = resize

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        shape = tuple(new if at == dim and size == old else size for at, size in enumerate(tensor.shape))
        return change(_like(tensor, shape, generator))

    args, kwargs = map_tensors(changed, first.args), map_tensors(changed, dict(first.kwargs))
    return Input(args, kwargs)


def _like(tensor: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Random values of the dtype of ``tensor``; integers are also in the range of its values."""
    if tensor.is_floating_point() or tensor.is_complex():
        return _random(shape, tensor.dtype, generator)
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(tensor.dtype)


def _random(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normally distributed values. Rows of four ascend: they may be boxes, whose first corner precedes the second."""
    values = torch.randn(tuple(shape), generator=generator, dtype=dtype)
    return values.sort(-1).values if len(shape) == 2 and shape[1] == 4 and dtype.is_floating_point else values
