"""Variations of an input: other values, sizes, dtypes, numbers, lengths of lists and orders in memory."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.running.observation import Input, forward_of, modules_of, weights_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.searching.written_options import written_options

UNUSUAL = (torch.float16, torch.bfloat16, torch.complex64)
"""The dtypes of inputs that are tried only if a part of the code is not reached otherwise."""

MODERATE = 1 << 17
"""How many elements a resized tensor may have, unless it has at most twice as many as before."""

MOST_WITH_WEIGHTS = 1 << 22
"""How many elements an input may have after one of its sizes has become that of a weight."""

MOST_ALONE = 4
"""How many of the tensors are also made longer alone."""

SIDE_FOR_A_PIXEL = 33
"""The size to try if a program accepts an image of one pixel."""


def around(first: Input, root: Callable[..., Any], fixed: Collection[str] = ()) -> Iterator[Input]:
    """Variations of ``first``, with other values, sizes and dtypes; the arguments ``fixed`` stay as they are."""
    generator = torch.Generator().manual_seed(1)
    yield changed_input(first, generator, _magnitude)
    yield from _with_larger_sides(first, generator)
    tensors = tensors_of([*first.args, *first.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    if shape and shape[0] > 1:
        yield changed_input(first, generator, resize=(0, shape[0], 1))
    yield changed_input(first, generator, lambda tensor: ~tensor if tensor.dtype is torch.bool else -_magnitude(tensor))
    yield changed_input(first, generator, lambda tensor: 100 * tensor if tensor.is_floating_point() else tensor)
    yield changed_input(first, generator, torch.zeros_like)
    yield changed_input(first, generator, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
    if modules_of(root):
        yield replace(first, other_mode=True)
    yield changed_input(first, generator, _reordered)
    yield from _with_other_lengths(first, generator)
    longest = _longest_weight(root)
    others = [(size + 1, longest + 1, 1 if dim else 2 * size, 2 * size) for dim, size in enumerate(shape)]
    resized = [(dim, shape[dim], other) for sizes in zip(*others, strict=True) for dim, other in enumerate(sizes)]
    sizes = (  # the smallest change of each dimension first
        changed_input(first, generator, resize=(dim, size, other))
        for dim, size, other in dict.fromkeys(resized)
        if other != size and shape.numel() // max(size, 1) * other <= max(MODERATE, 2 * shape.numel())
    )
    numbers, items = _with_other_numbers(first, root, fixed, generator), _with_one_item_resized(first, generator)
    turns = itertools.zip_longest(items, numbers, _with_other_options(first, root, fixed), sizes)
    yield from filter(None, itertools.chain.from_iterable(turns))
    yield from _with_sizes_in_other_dimensions(first, generator)
    for at, tensor in enumerate(tensors if len(tensors) > 1 else ()):
        for dim, size in enumerate(tensor.shape[1:], 1):
            for other in (2 * size, size // 2):
                yield changed_input(first, generator, resize=(dim, size, other), only={at})
                if len(tensors) > 2:  # e.g. keys and values, but not queries
                    yield changed_input(first, generator, resize=(dim, size, other), only={*range(len(tensors))} - {at})
    yield changed_input(first, generator)


def _with_larger_sides(first: Input, generator: torch.Generator) -> Iterator[Input]:
    """``first`` with a higher image, and with a larger square one, as well as all else of its size, such as labels.

    A program that accepts ``8 n + 1`` pixels mostly accepts ``16 n + 1``, too.
    """
    shape = next((tensor.shape for tensor in tensors_in(first)), torch.Size())
    if len(shape) < 3 or shape[-2] != shape[-1] or 4 * shape.numel() > MODERATE:
        return
    larger = 2 * shape[-1] - 1 if shape[-1] > 1 else SIDE_FOR_A_PIXEL
    for sides in ((larger, shape[-1]), (larger, larger)):

        def changed(tensor: torch.Tensor, sides: tuple[int, int] = sides) -> torch.Tensor:
            is_image = len(tensor.shape) > 2 and tensor.shape[-2:] == shape[-2:]
            return like(tensor, (*tensor.shape[:-2], *sides) if is_image else tensor.shape, generator)

        yield replace(first, args=map_tensors(changed, first.args), kwargs=map_tensors(changed, dict(first.kwargs)))


def _with_sizes_in_other_dimensions(first: Input, generator: torch.Generator) -> Iterator[Input]:
    """``first`` with a size of its first tensor changed, together with equal sizes of other dimensions.

    The number of nodes of a graph is a size of their features, and both sizes of their adjacency matrix; a batch is the
    first dimension of a token, and the second of a recurrent layer's state.
    """
    tensors = tensors_in(first)
    for dim, size in enumerate(tensors[0].shape if len(tensors) > 1 else ()):
        for other in (size + 1, 2 * size):
            yield _with_size(first, size, other, [None] * len(tensors), generator)
            for elsewhere in range(3) if any(size in tensor.shape for tensor in tensors[1:]) else ():
                if elsewhere != dim:
                    dims = [dim, *[elsewhere] * (len(tensors) - 1)]
                    yield _with_size(first, size, other, dims, generator)


def _with_size(first: Input, old: int, new: int, dims: Sequence[int | None], generator: torch.Generator) -> Input:
    """``first`` with a ``new`` size instead of an ``old`` one, in one dimension of each tensor or, if None, in all."""
    numbers = itertools.count()

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        meant = dims[next(numbers)]
        shape = [new if size == old and meant in (None, dim) else size for dim, size in enumerate(tensor.shape)]
        return like(tensor, shape, generator)

    return replace(first, args=map_tensors(changed, first.args), kwargs=map_tensors(changed, dict(first.kwargs)))


def _reordered(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` with another order of its dimensions in memory, if it has several."""
    return tensor.movedim(-1, 0).contiguous().movedim(0, -1) if tensor.dim() > 1 else tensor


def _with_other_lengths(first: Input, generator: torch.Generator) -> Iterator[Input]:
    """``first`` with one item fewer, and with one more, in all of its lists of tensors, and in each of several."""
    lists = [value for value in (*first.args, *first.kwargs.values()) if _is_list(value)]
    for only in (lists, *([one] for one in lists if len(lists) > 1)) if lists else ():
        for change in (lambda items: items[:-1], lambda items: items + items[-1:]):

            def changed(value: Any, change: Any = change, only: list[Any] = only) -> Any:
                return change(value) if any(value is one for one in only) else value

            args, kwargs = map(changed, first.args), {name: changed(value) for name, value in first.kwargs.items()}
            yield changed_input(replace(first, args=tuple(args), kwargs=kwargs), generator)


def _is_list(value: Any) -> bool:
    """Whether ``value`` is a list or tuple of tensors."""
    return type(value) in (list, tuple) and bool(value) and all(isinstance(one, torch.Tensor) for one in value)


def _with_one_item_resized(first: Input, generator: torch.Generator) -> Iterator[Input]:
    """``first`` with one item of a list smaller or larger than the others, such as one of several images."""
    tensors = tensors_of([*first.args, *first.kwargs.values()])
    lists = [value for value in (*first.args, *first.kwargs.values()) if isinstance(value, list | tuple)]
    items = {id(item) for item in tensors_of(lists)}
    listed = [at for at, tensor in enumerate(tensors) if id(tensor) in items]
    for at in listed[-1:] + listed[:1] if len(listed) > 1 else ():
        for dim, size in reversed(list(enumerate(tensors[at].shape))):
            for other in (size // 2, 2 * size) if size > 1 else ():
                yield changed_input(first, generator, resize=(dim, size, other), only={at})


def resized_alone(first: Input) -> Iterator[Input]:
    """``first`` with one of several tensors longer, in its first or its last dimension, than others of equal size."""
    generator, shapes = torch.Generator().manual_seed(5), [tensor.shape for tensor in tensors_in(first)]
    for at, shape in enumerate(shapes[:MOST_ALONE] if len(shapes) > 1 else ()):
        for dim in dict.fromkeys((0, len(shape) - 1)) if shape else ():
            if any(dim < len(other) and other[dim] == shape[dim] for other in (*shapes[:at], *shapes[at + 1 :])):
                yield changed_input(first, generator, resize=(dim, shape[dim], shape[dim] + 1), only={at})


def of_other_rank(first: Input) -> Iterator[Input]:
    """``first`` with one dimension fewer or more, in all tensors or in one: some programs accept an item or a batch.

    Others accept one vector for each item of a batch, such as what a time step is embedded in: one of several tensors
    also has the first and the last of its dimensions alone, and the first two.
    """
    generator = torch.Generator().manual_seed(3)
    numbers = range(len(tensors_in(first)))
    alone = [[number] for number in numbers if len(numbers) > 1]
    for only in (numbers, *alone):
        for dim in (0, 1):
            yield changed_input(first, generator, partial(_without_dimension, dim), only=only)
            yield changed_input(first, generator, partial(_with_dimension, dim), only=only)
    for only, dim in itertools.product(alone, (-1, 1)):
        yield changed_input(first, generator, partial(_vectors, dim), only=only)


def _without_dimension(dim: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.select(dim, 0).contiguous() if tensor.dim() > dim + 1 and tensor.shape[dim] else tensor


def _with_dimension(dim: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.unsqueeze(dim) if tensor.dim() >= dim else tensor


def _vectors(dim: int, tensor: torch.Tensor) -> torch.Tensor:
    """The first of the vectors that each item of a batch has along a dimension, if it has several dimensions."""
    if tensor.dim() < 3 or 0 in tensor.shape:
        return tensor
    along = tensor.movedim(dim, 1).flatten(2)
    return along[..., 0].contiguous()


def not_finite(first: Input) -> Iterator[Input]:
    """``first`` with one NaN, and with one infinity, in each tensor: some programs check for these."""

    def with_item(value: float, tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.layout is not torch.strided:
            return tensor
        changed = tensor.detach().clone(memory_format=torch.contiguous_format)
        changed.view(-1)[:1] = value
        return changed

    for value in (math.nan, math.inf):
        change = partial(map_tensors, partial(with_item, value))
        yield Input(change(first.args), change(dict(first.kwargs)))


def unusual(first: Input) -> Iterator[Input]:
    """``first`` with equal sizes, the channels last in memory, and other dtypes: some programs ask for these."""

    def channels_last(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.movedim(1, -1).contiguous().movedim(-1, 1) if tensor.dim() > 2 else tensor

    def converted(dtype: torch.dtype, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    yield from _with_equal_sizes(first)
    changes: list[Callable[[torch.Tensor], torch.Tensor]] = [channels_last]
    changes += [partial(converted, dtype) for dtype in UNUSUAL]
    for change in changes:
        yield Input(map_tensors(change, first.args), map_tensors(change, dict(first.kwargs)))


def _with_equal_sizes(first: Input) -> Iterator[Input]:
    """``first`` with the last two sizes of its first tensor, and of its last one, in all of its tensors."""
    generator, tensors = torch.Generator().manual_seed(4), tensors_in(first)
    for model in (tensors[0], tensors[-1]) if len(tensors) > 1 else ():

        def changed(tensor: torch.Tensor, sizes: torch.Size = model.shape[-2:]) -> torch.Tensor:
            return like(tensor, (*tensor.shape[:-2], *sizes), generator) if tensor.dim() > 1 else tensor

        yield replace(first, args=map_tensors(changed, first.args), kwargs=map_tensors(changed, dict(first.kwargs)))


def _magnitude(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype is torch.bool else tensor.abs()


def _with_other_options(first: Input, root: Callable[..., Any], fixed: Collection[str]) -> Iterator[Input]:
    """``first`` with each of the other strings that ``root`` compares an argument with, unless it is in ``fixed``."""
    signature, given = inspect.signature(forward_of(root)), first.by_parameter(root)
    for name, options in written_options(forward_of(root)).items():
        now = given.get(name, signature.parameters[name].default)
        for option in options if name not in fixed and (now is None or isinstance(now, str)) else ():
            if option != now:
                bound = signature.bind(*first.args, **first.kwargs)
                bound.arguments[name] = option
                yield replace(first, args=bound.args, kwargs=bound.kwargs)


def _with_other_numbers(
    first: Input, root: Callable[..., Any], fixed: Collection[str], generator: torch.Generator
) -> Iterator[Input]:
    """``first`` with other numbers, also for parameters that it leaves out; those in ``fixed`` stay as they are.

    Numbers may have to agree with each other, like a height and a width, or with a size of the first tensor.
    """
    numbers, given = numbers_of(first, fixed), first.by_parameter(root)
    defaults = {
        name: one.default
        for name, one in inspect.signature(forward_of(root)).parameters.items()
        if isinstance(one.default, int | float) and name not in fixed and name not in given
    }
    for turn in range(2):
        for key, value in itertools.chain(numbers.items(), defaults.items()):
            for other in _other_values(value)[turn : turn + 1]:
                yield _with_arguments(first, {key: other})
    counts = {key: value for key, value in numbers.items() if type(value) is int}
    for (key, value), (other_key, other) in itertools.permutations(counts.items(), 2):
        if other % 2 == 0:
            yield _with_arguments(first, {key: 2 * value, other_key: other // 2})
        yield _with_arguments(first, {key: value * other, other_key: 1})
    tensors = tensors_in(first)
    for (key, value), (dim, size) in itertools.product(
        counts.items(), enumerate(tensors[0].shape[1:], 1) if tensors else ()
    ):
        yield _with_arguments(changed_input(first, generator, resize=(dim, size, 2 * size)), {key: 2 * value})


def numbers_of(given: Input, fixed: Collection[str]) -> dict[int | str, int | float]:
    """The numbers among the arguments, by position or name, without those in ``fixed``."""
    arguments: list[tuple[int | str, Any]] = [*enumerate(given.args), *given.kwargs.items()]
    return {key: value for key, value in arguments if isinstance(value, int | float) and key not in fixed}


def _other_values(value: int | float) -> list[int | float]:
    if isinstance(value, bool):
        return [not value]
    return [value + 1, 0] if isinstance(value, int) else [2 * value + 1, -value]


def _with_arguments(given: Input, changed: Mapping[int | str, Any]) -> Input:
    """``given`` with other arguments, by position or name."""
    args = (changed.get(at, value) for at, value in enumerate(given.args))
    kwargs = {key: value for key, value in changed.items() if isinstance(key, str)}
    return Input(tuple(args), {**given.kwargs, **kwargs})


def _longest_weight(root: Callable[..., Any]) -> int:
    """The largest size of any dimension of a buffer or weight: for a longer input, slices of it are too short."""
    return max((size for weight in weights_of(root) for size in weight.shape), default=1)


def sized_like_weights(first: Input, root: Callable[..., Any]) -> Iterator[Input]:
    """``first`` with the size of a weight that the module holds itself instead of one of its own sizes.

    What is added to a position embedding has its width, though some of the code does without.
    """
    generator, module = torch.Generator().manual_seed(6), next(iter(modules_of(root)), None)
    held = (*module.parameters(recurse=False), *module.buffers(recurse=False)) if module is not None else ()
    sizes = dict.fromkeys(size for weight in held for size in reversed(weight.shape) if size > 1)
    own = dict.fromkeys(item for tensor in tensors_in(first) for item in reversed(list(enumerate(tensor.shape))))
    for (dim, size), other in itertools.product(own, sizes):
        if other != size and elements_of(first) // max(size, 1) * other <= MOST_WITH_WEIGHTS:
            yield changed_input(first, generator, resize=(dim, size, other))


def changed_input(
    first: Input,
    generator: torch.Generator,
    change: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    resize: tuple[int, int, int] = (0, 0, 0),
    only: Collection[int] | None = None,
) -> Input:
    """``first`` with other random values, to which ``change`` is applied.

    ``resize`` is (dimension, old size, new size). It applies to every tensor that has the old size in that dimension,
    since inputs often share a batch size or a length. If ``only`` is given, it holds the numbers of the tensors that
    are resized and changed; the others only get other values.
    """
    dim, old, new = resize
    numbers = itertools.count()

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        is_meant = only is None or next(numbers) in only
        shape = (new if is_meant and at == dim and size == old else size for at, size in enumerate(tensor.shape))
        other = like(tensor, tuple(shape), generator)
        return change(other) if is_meant else other

    args, kwargs = map_tensors(changed, first.args), map_tensors(changed, dict(first.kwargs))
    return replace(first, args=args, kwargs=kwargs)


def like(tensor: torch.Tensor, shape: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """Random values of the dtype of ``tensor``; integers are within the range of its values."""
    if _is_unit(tensor):
        return torch.rand(tuple(shape), generator=generator, dtype=tensor.dtype)
    if tensor.is_floating_point() or tensor.is_complex():
        return random_values(shape, tensor.dtype, generator)
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(tensor.dtype)


def _is_unit(tensor: torch.Tensor) -> bool:
    """Whether the values are from 0 to 1, and not all equal: the program may accept no others."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    low, high = tensor.min(), tensor.max()
    return bool(0 <= low < high <= 1)


def random_values(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normally distributed values. Rows of four ascend: they may be boxes, whose first corner precedes the second."""
    values = torch.randn(tuple(shape), generator=generator, dtype=dtype)
    return values.sort(-1).values if len(shape) == 2 and shape[1] == 4 and dtype.is_floating_point else values


def tensors_in(given: Input) -> list[torch.Tensor]:
    """The tensors among the arguments, also those in lists and dicts."""
    return tensors_of([*given.args, *given.kwargs.values()])


def elements_of(given: Input) -> int:
    """How many elements the tensors among the arguments have."""
    return sum(tensor.numel() for tensor in tensors_in(given))
