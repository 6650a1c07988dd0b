"""Inputs that a program runs on, found by running it.

Candidates come from the recipe, then from calls with literal tensors in the file, from the module's layers, from a list
of common shapes, and last from `input_solver`. The first candidate that works is varied: other values, other sizes,
another dtype, another number of dimensions, and values for the parameters whose default is None.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.building.random_seeds import seed
from fx_lsp.agent.running.input_solver import solve_inputs
from fx_lsp.agent.running.meta_run import is_large
from fx_lsp.agent.running.observation import Input, forward_of, modules_of, weights_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.running.wanted_inputs import Wanted
from fx_lsp.agent.running.written_lists import written_lists
from fxcore.explore.guess_inputs import guesses

LEAST, MOST = 3, 14
"""The minimum and the maximum number of inputs that a proof uses."""

MOST_OPTIONAL_RUNS, MOST_OPTIONAL_RUNS_IF_NEEDED = 60, 150
"""How often a program that runs without its optional inputs is run in search of these: usually, and if the inputs that
are known miss a part of the code."""

SHARE_FOR_CANDIDATES, SHARE_WITHOUT_OPTIONAL, SHARE_ON_META = 1 / 3, 1 / 2, 1 / 2
"""Which share of the budget may have been used after the first guesses, after a search without optional inputs, and
after one on the meta device."""

UNUSUAL = (torch.float16, torch.bfloat16, torch.complex64)
"""The dtypes of inputs that are tried only if a part of the code is not reached otherwise."""

MODERATE = 1 << 17
"""How many elements a resized tensor may have, unless it has at most twice as many as before."""

MOST_GUESSED = 1 << 26
"""How many elements the tensors of one guess may have. A volume with the sides of an image would take gigabytes."""

MOST_GUESSES = 24
"""How many of the inputs that the layers suggest are tried."""

SIDES = (64, 224, 32, 299, 84, 28)
"""Image sizes in pixels to try if nothing in a module determines the size; 84 is that of Atari games, 28 of MNIST."""

SMALL_SIDES = (16, 64)
"""The same for a search that runs a program hundreds of times."""

SIDE_FOR_A_PIXEL = 33
"""The size to try if a program accepts an image of one pixel."""

SHAPES = ((3, 8), (2, 5, 8), (2, 3, 32, 32), (2, 3, 64, 64), (2, 3, 224, 224), (4, 4), (6,), (1, 1, 16, 16))
"""Shapes to try if the layers suggest nothing that works."""

_FACTORIES = frozenset({"rand", "randn", "zeros", "ones", "full", "randint", "arange", "tensor", "empty"})
_BY_ANNOTATION: Mapping[Any, Any] = {int: 2, bool: False, float: 0.5}

MayRun = Callable[..., bool]
"""Whether the program may be run once more, with all of the budget or with a share of it; see `SearchBudget`."""

Runs = Callable[[Input, AbstractSet[Any]], AbstractSet[Any] | None]
"""Which of the parts of the code a run reaches; None if the program does not run to its end on the input."""


class NoInputs(Exception):
    """Too few inputs were found."""


def find_inputs(
    candidates: Iterator[Input],
    around: Callable[[Input], Iterator[Input]],
    runs: Runs,
    wanted: AbstractSet[Any],
    is_costly: Callable[[Input], bool],
    may_run: Callable[[], bool] = lambda: True,
    *,
    few: bool = False,
    fixed: Collection[str] = (),
    decisive: Callable[[Input], Iterator[Input]] = lambda given: iter(()),
) -> tuple[Input, ...]:
    """At least `LEAST` inputs that the program accepts: one of ``candidates``, and variations ``around`` it.

    ``wanted`` are the parts of the code that they should reach. A candidate that ``is_costly``, which is asked only
    about inputs that were run, is made smaller if possible. There are more than `MOST` inputs (or than `LEAST` if an
    input is costly all the same, or with ``few``) only if they reach more or tell two equal sizes apart. Only if they
    reach more are there any of another rank, with NaN, infinity, or an unusual dtype or memory format, and ``decisive``
    ones.
    ``may_run`` is asked before each candidate, before each input of another rank and, once there are enough inputs,
    before each variation. Raises `NoInputs` if there are too few inputs, or if they don't tell two equal sizes or
    numbers apart; the arguments ``fixed`` need not differ.
    """
    for candidate in candidates:
        if not may_run():
            break
        reached = runs(candidate, wanted)
        if reached is None:
            continue
        is_large = is_costly(candidate)
        first = _reduced(candidate, runs, reached, is_costly) if is_large else candidate
        found, covered, largest = [first], set(reached), _elements(first)
        most = LEAST if few or (is_large and is_costly(first)) else MOST
        reaching = partial(_reaching, covered, wanted, runs, may_run)
        of_other_rank = reaching(_of_other_rank(first))
        for given in around(first):
            is_varied = _is_varied(found, fixed)
            is_enough = len(found) >= most and covered >= wanted and is_varied
            if is_enough or (len(found) >= LEAST and not may_run()):
                break
            reached = runs(given, wanted - covered)
            adds = len(found) < most or reached or (not is_varied and _is_varied([*found, given], fixed))
            if reached is not None and adds:
                if _elements(given) > largest:
                    largest, most = _elements(given), LEAST if is_costly(given) else most
                found.append(given)
                covered |= reached
        found += reaching(itertools.chain(_not_finite(first), _unusual(first)))
        for given in reaching(decisive(first)):
            others = itertools.islice(around(given), LEAST) if given.weights else ()
            found += [given, *(other for other in others if runs(other, frozenset()) is not None)]
        if len(found) >= LEAST and _is_varied(found, fixed):
            return (*found, *of_other_rank)
    raise NoInputs


def _reaching(
    covered: set[Any], wanted: AbstractSet[Any], runs: Runs, may_run: Callable[[], bool], candidates: Iterator[Input]
) -> list[Input]:
    """Those of the ``candidates`` that reach more of what is ``wanted``; what they reach is added to ``covered``."""
    found = []
    while covered < wanted and may_run() and (given := next(candidates, None)) is not None:
        if reached := runs(given, wanted - covered):
            found.append(given)
            covered |= reached
    return found


def _tensors(given: Input) -> list[torch.Tensor]:
    return tensors_of([*given.args, *given.kwargs.values()])


def _elements(given: Input) -> int:
    return sum(tensor.numel() for tensor in _tensors(given))


def _is_varied(found: Sequence[Input], fixed: Collection[str]) -> bool:
    """Whether no two numbers are always equal, and the inputs differ in some size if any two sizes are equal."""
    numbers = [_numbers_of(given, fixed) for given in found]
    for key, other in itertools.combinations((key for key, value in numbers[0].items() if type(value) is int), 2):
        if all(given.get(key) == given.get(other) for given in numbers):
            return False
    shapes = [[tensor.shape for tensor in _tensors(given)] for given in found]
    return any(shape != shapes[0] for shape in shapes) or all(len(set(one)) == len(one) for one in shapes[0])


def _reduced(first: Input, runs: Runs, reached: AbstractSet[Any], is_costly: Callable[[Input], bool]) -> Input:
    """``first``, or a smaller input of the same kind that also reaches what ``first`` has ``reached``."""
    generator = torch.Generator().manual_seed(2)
    tensors = _tensors(first)
    for dim, size in enumerate(tensors[0].shape if tensors else ()):
        for other in dict.fromkeys((16 if dim else 2, size // 8, size // 2)):
            smaller = _changed(first, generator, resize=(dim, size, other)) if 1 < other < size else None
            if smaller is not None and runs(smaller, reached) == reached:
                first = smaller
                if not is_costly(first):
                    return first
                break
    return first


def candidates(
    root: Callable[..., Any], fixed: Mapping[str, Any], known: Input | None, source: str, namespace: dict[str, Any]
) -> Iterator[Input]:
    """Inputs that ``root`` may accept, the likeliest first.

    ``fixed`` has the values of parameters that are not inputs, ``known`` is an input that the recipe names. ``source``
    and ``namespace`` are the file's: the arguments of any call in this file may also fit.
    """
    for given in itertools.chain([known] if known else [], literal_calls(source, namespace)):
        yield Input(given.args, {**given.kwargs, **fixed})
    if any(found.is_certain for found in written_lists(forward_of(root)).values()):
        return  # a tensor in place of a list may run, but an edit for lists need not suit it
    generator = torch.Generator().manual_seed(0)
    flags, names = _required(inspect.signature(forward_of(root)).parameters, fixed)
    guessed = _guessed(root, {**flags, **fixed})
    counts = _token_counts(root)
    for guess in itertools.chain(guessed, _habits(names)):
        if sum(tensor.numel() for tensor in tensors_of(guess.values())) > MOST_GUESSED:
            continue
        whole = any(not tensor.is_floating_point() for tensor in tensors_of(guess.values()))
        for count in counts if whole else counts[:1]:
            yield Input((), {**map_tensors(partial(_real, count=count, generator=generator), guess), **flags, **fixed})


def solutions(
    root: Callable[..., Any],
    fixed: Mapping[str, Any],
    may_run: MayRun = lambda share=1.0: True,
    near: list[Wanted] | None = None,
    *,
    computes: bool = True,
) -> Iterator[Input]:
    """Inputs that ``root`` accepts, found by running it; see `solve_inputs`. ``fixed`` is as in `candidates`.

    If there are optional inputs, a part of the budget is kept for a search that includes these. ``near`` and
    ``computes`` are as for `solve_inputs`.
    """
    parameters = inspect.signature(forward_of(root)).parameters
    flags, names = _required(parameters, fixed)
    numbers = [name for name, value in flags.items() if type(value) is int]
    flags = {name: value for name, value in flags.items() if name not in numbers}
    guessed = _guessed(root, {**flags, **fixed}, SMALL_SIDES)
    optional = [name for name, one in parameters.items() if one.default is None and name not in fixed]
    known = {**flags, **fixed}
    fixed_none = [name for name, value in fixed.items() if value is None]
    left_out = [*optional, *fixed_none]
    at_first = partial(may_run, SHARE_WITHOUT_OPTIONAL if optional else 1.0)
    solved = partial(solve_inputs, lacking=[], near=near, computes=computes)
    needs_optional = computes and near and all(any(path[0] in optional for path in one) for one in near)
    if not needs_optional:
        yield from solved(root, [*names, *numbers], known, guessed, numbers, left_out, (), may_run=at_first)
    if optional:  # the program may not run without them
        every = [{**dict.fromkeys(optional, next(iter(guess.values()), None)), **guess} for guess in guessed]
        every_name = [*names, *numbers, *optional]
        yield from solved(root, every_name, known, every, numbers, fixed_none, optional, may_run=may_run)


def solutions_on_meta(
    root: Callable[..., Any], fixed: Mapping[str, Any], may_run: MayRun, near: list[Wanted]
) -> Iterator[Input]:
    """Inputs whose shapes ``root`` accepts, if it is a large model: it is run without computing anything.

    ``near`` receives them, for `solutions`: the program may reject their values.
    """
    if is_large(root):
        yield from solutions(root, fixed, lambda share=1.0: may_run(SHARE_ON_META * share), near, computes=False)


def with_optional_inputs(
    root: Callable[..., Any],
    first: Input,
    fixed: Mapping[str, Any],
    may_run: Callable[[], bool],
    most_runs: int = MOST_OPTIONAL_RUNS,
) -> Iterator[Input]:
    """Inputs that include the parameters that are None in ``first``, found by running ``root``, and variations of them.

    ``first`` is an input that ``root`` accepts. ``may_run`` is asked before each of ``most_runs`` runs of the search.
    """
    given = first.by_parameter(root)
    parameters = inspect.signature(forward_of(root)).parameters.values()
    names = [
        one.name
        for one in parameters
        if one.name not in fixed and given.get(one.name, None if one.default is None else one) is None
    ]
    known = {name: value for name, value in given.items() if name not in names}
    starts = [dict.fromkeys(names, tensor) for tensor in tensors_of(known.values())]
    found = solve_inputs(root, names, known, starts, most_runs=most_runs, may_run=may_run)
    for full in itertools.islice((one for one in found if _has_any(one.by_parameter(root), names)), 1):
        yield from itertools.chain([full], around(full, root, fixed))


def _has_any(arguments: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(arguments.get(name) is not None for name in names)


def without_optional_inputs(root: Callable[..., Any], first: Input, fixed: Mapping[str, Any]) -> Iterator[Input]:
    """Inputs like ``first``, each with None for one of the parameters that are None by default."""
    signature = inspect.signature(forward_of(root))
    for name, parameter in signature.parameters.items():
        bound = signature.bind(*first.args, **first.kwargs)
        if parameter.default is None and name not in fixed and bound.arguments.get(name) is not None:
            bound.arguments[name] = None
            yield Input(bound.args, bound.kwargs)


def _guessed(root: Callable[..., Any], given: Mapping[str, Any], sides: Sequence[int] = SIDES) -> list[dict[str, Any]]:
    """Inputs that the layers suggest; ``given`` are values that are known, ``sides`` are sizes of images."""
    return list(itertools.islice(_distinct(guesses(root, given, sides=sides)), MOST_GUESSES))


def _required(
    parameters: Mapping[str, inspect.Parameter], fixed: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Values for the required parameters annotated as ``int``, ``bool`` or ``float``, and the names of the others."""
    flags: dict[str, Any] = {}
    names = []
    for name, parameter in parameters.items():
        if (
            name in fixed
            or parameter.default is not parameter.empty
            or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ):
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
    counts = [module.num_embeddings for module in modules_of(root) if isinstance(module, torch.nn.Embedding)]
    return list(dict.fromkeys(counts)) or [4]


def _real(tensor: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """A tensor of random values with the shape and dtype of ``tensor``; integers are less than ``count``."""
    if tensor.is_floating_point():
        return _random(tensor.shape, tensor.dtype, generator)
    return torch.randint(count, tensor.shape, generator=generator).to(tensor.dtype)


def literal_calls(source: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """The arguments of the calls in ``source`` that pass tensors made from literals: ``net(torch.randn(2, 3))``."""
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
    """The expression (a call to a tensor factory, or a literal) that creates ``node``'s value; None if unknown."""
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


def around(first: Input, root: Callable[..., Any], fixed: Collection[str] = ()) -> Iterator[Input]:
    """Variations of ``first``, with other values, sizes and dtypes; the arguments ``fixed`` stay as they are."""
    generator = torch.Generator().manual_seed(1)
    yield _changed(first, generator, _magnitude)
    yield from _with_larger_sides(first, generator)
    tensors = tensors_of([*first.args, *first.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    if shape and shape[0] > 1:
        yield _changed(first, generator, resize=(0, shape[0], 1))
    yield _changed(first, generator, lambda tensor: ~tensor if tensor.dtype is torch.bool else -_magnitude(tensor))
    yield _changed(first, generator, lambda tensor: 100 * tensor if tensor.is_floating_point() else tensor)
    yield _changed(first, generator, torch.zeros_like)
    yield _changed(first, generator, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
    if modules_of(root):
        yield replace(first, other_mode=True)
    yield _changed(first, generator, _reordered)
    yield from _with_other_lengths(first, generator)
    longest = _longest_weight(root)
    others = [(size + 1, longest + 1, 1 if dim else 2 * size, 2 * size) for dim, size in enumerate(shape)]
    resized = [(dim, shape[dim], other) for sizes in zip(*others, strict=True) for dim, other in enumerate(sizes)]
    sizes = (  # the smallest change of each dimension first
        _changed(first, generator, resize=(dim, size, other))
        for dim, size, other in dict.fromkeys(resized)
        if other != size and shape.numel() // max(size, 1) * other <= max(MODERATE, 2 * shape.numel())
    )
    numbers, items = _with_other_numbers(first, root, fixed, generator), _with_one_item_resized(first, generator)
    turns = itertools.zip_longest(items, numbers, sizes)
    yield from filter(None, itertools.chain.from_iterable(turns))
    for at, tensor in enumerate(tensors if len(tensors) > 1 else ()):
        for dim, size in enumerate(tensor.shape[1:], 1):
            for other in (2 * size, size // 2):
                yield _changed(first, generator, resize=(dim, size, other), only={at})
                if len(tensors) > 2:  # e.g. keys and values, but not queries
                    yield _changed(first, generator, resize=(dim, size, other), only={*range(len(tensors))} - {at})
    yield _changed(first, generator)


def _with_larger_sides(first: Input, generator: torch.Generator) -> Iterator[Input]:
    """``first`` with a higher image, and with a larger square one, as well as all else of its size, such as labels.

    A program that accepts ``8 n + 1`` pixels mostly accepts ``16 n + 1``, too.
    """
    shape = next((tensor.shape for tensor in _tensors(first)), torch.Size())
    if len(shape) < 3 or shape[-2] != shape[-1] or 4 * shape.numel() > MODERATE:
        return
    larger = 2 * shape[-1] - 1 if shape[-1] > 1 else SIDE_FOR_A_PIXEL
    for sides in ((larger, shape[-1]), (larger, larger)):

        def changed(tensor: torch.Tensor, sides: tuple[int, int] = sides) -> torch.Tensor:
            is_image = len(tensor.shape) > 2 and tensor.shape[-2:] == shape[-2:]
            return like(tensor, (*tensor.shape[:-2], *sides) if is_image else tensor.shape, generator)

        yield replace(first, args=map_tensors(changed, first.args), kwargs=map_tensors(changed, dict(first.kwargs)))


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
            yield _changed(replace(first, args=tuple(args), kwargs=kwargs), generator)


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
                yield _changed(first, generator, resize=(dim, size, other), only={at})


def _of_other_rank(first: Input) -> Iterator[Input]:
    """``first`` with one dimension fewer or more, in all tensors or in one: some programs accept an item or a batch."""
    generator = torch.Generator().manual_seed(3)
    numbers = range(len(_tensors(first)))
    for only in (numbers, *([number] for number in numbers if len(numbers) > 1)):
        for dim in (0, 1):
            yield _changed(first, generator, partial(_without_dimension, dim), only=only)
            yield _changed(first, generator, partial(_with_dimension, dim), only=only)


def _without_dimension(dim: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.select(dim, 0).contiguous() if tensor.dim() > dim + 1 and tensor.shape[dim] else tensor


def _with_dimension(dim: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.unsqueeze(dim) if tensor.dim() >= dim else tensor


def _not_finite(first: Input) -> Iterator[Input]:
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


def _unusual(first: Input) -> Iterator[Input]:
    """``first`` with the channels last in memory, and with other dtypes: some programs ask for these."""

    def channels_last(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.movedim(1, -1).contiguous().movedim(-1, 1) if tensor.dim() > 2 else tensor

    def converted(dtype: torch.dtype, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    changes: list[Callable[[torch.Tensor], torch.Tensor]] = [channels_last]
    changes += [partial(converted, dtype) for dtype in UNUSUAL]
    for change in changes:
        yield Input(map_tensors(change, first.args), map_tensors(change, dict(first.kwargs)))


def _magnitude(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype is torch.bool else tensor.abs()


def _with_other_numbers(
    first: Input, root: Callable[..., Any], fixed: Collection[str], generator: torch.Generator
) -> Iterator[Input]:
    """``first`` with other numbers, also for parameters that it leaves out; those in ``fixed`` stay as they are.

    Numbers may have to agree with each other, like a height and a width, or with a size of the first tensor.
    """
    numbers, given = _numbers_of(first, fixed), first.by_parameter(root)
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
    tensors = _tensors(first)
    for (key, value), (dim, size) in itertools.product(
        counts.items(), enumerate(tensors[0].shape[1:], 1) if tensors else ()
    ):
        yield _with_arguments(_changed(first, generator, resize=(dim, size, 2 * size)), {key: 2 * value})


def _numbers_of(given: Input, fixed: Collection[str]) -> dict[int | str, int | float]:
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


def _changed(
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
        return _random(shape, tensor.dtype, generator)
    low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(tensor.dtype)


def _is_unit(tensor: torch.Tensor) -> bool:
    """Whether the values are from 0 to 1, and not all equal: the program may accept no others."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    low, high = tensor.min(), tensor.max()
    return bool(0 <= low < high <= 1)


def _random(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Normally distributed values. Rows of four ascend: they may be boxes, whose first corner precedes the second."""
    values = torch.randn(tuple(shape), generator=generator, dtype=dtype)
    return values.sort(-1).values if len(shape) == 2 and shape[1] == 4 and dtype.is_floating_point else values
