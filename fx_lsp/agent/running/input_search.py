"""Inputs that a program runs on, found by running it.

They come from what the recipe names, then from calls with literal tensors in the file, from what the module looks like,
and from habit. Around the first that works others are made: other values, other sizes.
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
"""How many inputs a proof takes."""

LARGEST = 1 << 22
"""Elements of a tensor that is invented."""

MOST_GUESSES = 24
"""How many of the guesses that the layers suggest are tried."""

SIDES = (64, 224, 32, 299)
"""Pixels, where a module doesn't say how large its images are."""

SHAPES = ((3, 8), (2, 5, 8), (2, 3, 32, 32), (2, 3, 64, 64), (2, 3, 224, 224), (4, 4), (6,), (1, 1, 16, 16))
"""What to try where no layer says more."""

_FACTORIES = frozenset({"rand", "randn", "zeros", "ones", "full", "randint", "arange", "tensor", "empty"})
_BY_ANNOTATION: Mapping[Any, Any] = {int: 2, bool: False, float: 0.5}

Runs = Callable[[Input], bool]
"""Whether the program runs on an input to its end."""


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
    """`LEAST` to `MOST` inputs that ``runs``: the first of ``candidates``, and what is ``around`` it.

    ``missed`` tells how much of what should be run was not run yet. The search ends at ``until`` (by
    ``time.monotonic``); when to run on those found takes more than ``seconds`` of processor time, only such are added
    that come by more. Raises `NoInputs` where there are too few.
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
    """Inputs that ``root`` may take, the likeliest first.

    ``fixed``: values of parameters that are not inputs; ``known``: inputs that it is given somewhere. ``source`` and
    ``namespace`` are the file's: calls of others may fit, too.
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
    """Of what has to be given: values for the parameters that are annotated as flags, and the others' names."""
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
    """How many different tokens there may be, for each embedding."""
    modules = root.modules() if isinstance(root, torch.nn.Module) else []
    counts = [module.num_embeddings for module in modules if isinstance(module, torch.nn.Embedding)]
    return list(dict.fromkeys(counts)) or [4]


def _real(tensor: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Random values of the shape and type of a tensor that has none; whole numbers are of ``count`` different ones."""
    if tensor.is_floating_point():
        return _random(tensor.shape, tensor.dtype, generator)
    return torch.randint(count, tensor.shape, generator=generator).to(tensor.dtype)


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
                seed()
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


def around(first: Input, root: Callable[..., Any]) -> Iterator[Input]:
    """Like ``first``, with other values and other sizes."""
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

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        shape = tuple(new if at == dim and size == old else size for at, size in enumerate(tensor.shape))
        return change(_like(tensor, shape, generator))

    args, kwargs = map_tensors(changed, first.args), map_tensors(changed, dict(first.kwargs))
    return Input(args, kwargs)


def _like(tensor: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Random values of the same type and, where they are whole numbers, of the same range."""
    if tensor.is_floating_point() or tensor.is_complex():
        return _random(shape, tensor.dtype, generator)
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(tensor.dtype)


def _random(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normally distributed values. Rows of four ascend: they may be boxes, whose first corner is before the other."""
    values = torch.randn(tuple(shape), generator=generator, dtype=dtype)
    return values.sort(-1).values if len(shape) == 2 and shape[1] == 4 and dtype.is_floating_point else values
