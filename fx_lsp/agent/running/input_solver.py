"""Solves for inputs that a program accepts: runs it, reads what did not fit, changes that, and runs it again.

A change of one input (its shape or the kind of its values) is kept if the program makes more calls to torch before it
fails. Sizes come from the error's text, which usually names the sizes that do not fit, and from the layers.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import math
import operator
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Literal

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.building.failed_checks import numbers_of_check, tree_of, value_of
from fx_lsp.agent.building.random_seeds import seed_all
from fx_lsp.agent.own_files import is_own_file
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.written_shapes import sizes_of, written_numbers, written_shapes
from fxcore import accelerators

MOST_RUNS = 400
"""How often the program is run."""

MOST_STARTS = 3
"""How many of the first guesses the search starts from."""

LARGEST = 1 << 21
"""The maximum number of elements of an input."""

NUMBER = 3
"""The first number to try; it is not the batch size."""

MOST_WIDTHS = 8
"""How many sizes of layers are tried."""

MOST_WIDTHS_AT_FIRST = 3
"""For how many sizes of layers a first guess is made."""

MOST_IN_PROPORTION = 5
"""How many of the sizes that an error names are compared with each other."""

LIST_ITEMS = 2
"""How many items an invented list has."""

LONGEST_SHAPE = 5
"""The maximum number of an input's dimensions."""

Kind = Literal["float", "index", "mask", "unit", "number", "none"]
"""``unit``: from 0 to 1, so that each number can be converted to an index; ``number``: an int instead of a tensor, the
first size of the shape; ``none``: None instead of a tensor."""

KINDS: tuple[Kind, ...] = ("float", "index", "mask", "unit", "none", "number")

PARTS = (8, 4, 2, 1)
"""The second of two sizes whose product is known."""

_ABOUT_KIND = re.compile(r"dtype|long|int|float|bool|indices|type|index out|attribute", re.IGNORECASE)
_ABOUT_INTS = re.compile(r"\bints?\b|\bintegers?\b")
_NUMBER = re.compile(r"(?<![\w.])\d{1,5}(?![\w.])|(?<=\dx)\d{1,5}\b|\b\d{1,5}(?=x\d)")
_VIEW = re.compile(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)")
_SHAPE = re.compile(r"[\[(](\d{1,7}(?:, ?\d{1,7})*),?[\])]")


@dataclass(frozen=True)
class TensorLike:
    """A tensor to make."""

    shape: tuple[int, ...]
    kind: Kind = "float"

    def make(self, rows: int, generator: torch.Generator) -> torch.Tensor | int | None:
        """A tensor of random values, a number, or None; indices are less than ``rows``."""
        if self.kind == "none":
            return None
        if self.kind == "number":
            return self.shape[0] if self.shape else NUMBER
        if self.kind == "index":
            return torch.randint(rows, self.shape, generator=generator)
        if self.kind == "unit":
            return torch.rand(self.shape, generator=generator)
        values = torch.randn(self.shape, generator=generator)
        return values > 0 if self.kind == "mask" else values


Path = tuple[str | int, ...]
"""Where a tensor is: the parameter, then keys of dicts and indices of lists."""

Wanted = Mapping[Path, TensorLike]
"""The tensors to pass."""


class _CallCounter(TorchFunctionMode):
    """Counts the calls to torch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class _Run:
    """How far the program got with some inputs."""

    wanted: Wanted
    calls: int
    error: str | None
    """The text of the exception that it raised; None if it ran to its end."""
    numbers: tuple[int, ...] = ()
    """The numbers that the check that raised the exception compares."""


class _InputSolver:
    """Looks for inputs of one program."""

    def __init__(
        self, root: Callable[..., Any], flags: Mapping[str, Any], most_runs: int, may_run: Callable[[], bool]
    ) -> None:
        self._root = root
        self._flags = flags
        self._left = most_runs
        self._may_run = may_run
        self._widths = _widths(root)
        self._rows = min(_row_counts(root), default=4)
        self._tried: set[tuple[tuple[Path, TensorLike], ...]] = set()

    def solve(self, starts: Sequence[Wanted]) -> Iterator[Input]:
        """Inputs that the program accepts, found from the ``starts`` with which it gets furthest."""
        begun = [run for start in starts if (run := self._run(start))]
        begun.sort(key=lambda run: (run.error is not None, -run.calls))
        for run in begun[:MOST_STARTS]:
            end = self._climb(run)
            if end.error is None:
                yield self._input(end.wanted)

    def _climb(self, best: _Run) -> _Run:
        """Change the inputs as long as the program gets further, or gets equally far and fails in a new way."""
        met = {best.error}
        while best.error is not None:
            for changed in self._changes(best):
                run = self._run(changed)
                if run and (run.error is None or run.calls > best.calls or self._is_new(run, best, met)):
                    best = run
                    break
            else:
                return best
            met.add(best.error)
        return best

    def _is_new(self, run: _Run, best: _Run, met: Collection[str | None]) -> bool:
        """Whether ``run`` got as far as ``best`` and failed in a way that is not in ``met``; sizes don't count."""
        known = {re.sub(r"\d+", "", error or "") for error in met}
        return run.calls == best.calls and re.sub(r"\d+", "", run.error or "") not in known

    def _run(self, wanted: Wanted) -> _Run | None:
        """Run the program; None if it has been run with these inputs before, or if there were too many runs."""
        key = tuple(wanted.items())
        if key in self._tried or self._left <= 0 or not self._may_run():
            return None
        self._tried.add(key)
        self._left -= 1
        given = self._input(wanted)
        seed_all()
        with torch.no_grad(), warnings.catch_warnings(), _CallCounter() as counter:
            warnings.simplefilter("ignore")
            try:
                self._root(**given.kwargs)
            except Exception as error:
                if (structured := _structured(error, wanted, given.kwargs)) is not None:
                    return self._run(structured)
                return _Run(wanted, counter.count, f"{type(error).__name__}: {error}", _compared(error))
        return _Run(wanted, counter.count, None)

    def _input(self, wanted: Wanted) -> Input:
        generator = torch.Generator().manual_seed(0)
        arguments: dict[Any, Any] = {}
        for path, like in wanted.items():
            _put(arguments, path, like.make(self._rows, generator))
        return Input((), {**_with_lists(arguments), **self._flags})

    def _changes(self, run: _Run) -> Iterator[Wanted]:
        """Other inputs: first with one input changed, or a size that several inputs share, then with all inputs of the
        same shape changed, at last with two inputs changed to masks that are broadcast.

        The items of a list change together. If the error asks for integers, two inputs become numbers first of all.
        """
        told = _ErrorText(run.error or "", run.numbers)
        likes = {_without_indices(path): like for path, like in run.wanted.items()}
        given = [name for name, like in likes.items() if like.kind != "none"]
        for pair in itertools.combinations(given, 2) if told.about_ints else ():  # such as height and width
            yield {
                path: _of_kind(like, "number") if _without_indices(path) in pair else like
                for path, like in run.wanted.items()
            }
        counts = Counter(_alike(like) for like in likes.values())
        groups = [alike for alike, count in counts.items() if count > 1]
        moves: list[Iterable[Wanted]] = [_with_shared_sizes(run.wanted, told.sizes)]
        moves += [
            _with_alike_changed(run.wanted, alike, _moves(alike, told, self._widths))
            for alike in groups
            if alike.kind == "number"
        ]
        moves += [_with_one_changed(run.wanted, name, _moves(like, told, self._widths)) for name, like in likes.items()]
        yield from filter(None, itertools.chain.from_iterable(itertools.zip_longest(*moves)))
        for alike in groups:
            if alike.kind != "number":
                yield from _with_alike_changed(run.wanted, alike, _moves(alike, told, self._widths))
        for pair in itertools.combinations(given, 2):
            for dim in range(1, max(len(likes[name].shape) for name in pair)):
                yield {
                    path: replace(like, shape=_with_size(like.shape, dim, 1))
                    if _without_indices(path) in pair
                    else like
                    for path, like in run.wanted.items()
                }


class _ErrorText:
    """What an error says: its text, and the numbers that the check that raised it compares."""

    def __init__(self, text: str, numbers: Sequence[int]) -> None:
        self.about_kind = _ABOUT_KIND.search(text) is not None
        self.about_ints = _ABOUT_INTS.search(text) is not None
        shapes = [tuple(map(int, found.split(","))) for found in _SHAPE.findall(text)]
        self.shapes = [shape for shape in dict.fromkeys(shapes) if _is_shape(shape)]
        self.elements = [
            (math.prod(map(int, view.split(","))), int(found)) for view, found in _VIEW.findall(text) if "-" not in view
        ]
        """How many elements a tensor would need for a view, and how many it has."""
        sizes = [*numbers, *map(int, _NUMBER.findall(text)), *_products(shapes)]
        self.sizes = [size for size in dict.fromkeys(sizes) if 0 < size <= LARGEST]


def _compared(error: BaseException) -> tuple[int, ...]:
    """The numbers that the check that raised ``error`` compares."""
    return tuple(number for frame, line in _innermost(error) for number in numbers_of_check(frame, line))


def _innermost(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frame and line that raised ``error``, ignoring those that watch or redirect what the program does."""
    steps = [step for step in traceback.walk_tb(error.__traceback__) if not _intervenes(step[0].f_code.co_filename)]
    return steps[-1:]


def _intervenes(filename: str) -> bool:
    """Whether the code in a file comes between the program and torch: the modes of fx-lsp and of fxcore."""
    return is_own_file(filename) or filename == accelerators.__file__


def _products(shapes: Sequence[tuple[int, ...]]) -> Iterator[int]:
    """The products of neighbouring sizes: ``view(batch, height, width, channels)`` needs height * width tokens."""
    for shape in shapes:
        for start, end in itertools.combinations(range(len(shape) + 1), 2):
            if end - start > 1:
                yield math.prod(shape[start:end])


def _put(container: dict[Any, Any], path: Path, value: torch.Tensor | int | None) -> None:
    """Put ``value`` at ``path``, where any container is a dict."""
    for step in path[:-1]:
        container = container.setdefault(step, {})
    container[path[-1]] = value


def _with_lists(value: Any) -> Any:
    """``value`` with lists instead of the dicts whose keys are indices."""
    if not isinstance(value, dict):
        return value
    items = {key: _with_lists(item) for key, item in value.items()}
    return list(items.values()) if 0 in items else items


def _structured(error: BaseException, wanted: Wanted, arguments: Mapping[str, Any]) -> Wanted | None:
    """``wanted`` with a dict where the program looked up a missing key; None if it did not.

    The program may have looked it up in a tensor, in an item of a tensor that it treats as a list, or in a dict.
    """
    for holder, key in _lookups(error):
        for path, like in wanted.items():
            tensor = _at(arguments, path)
            if not isinstance(tensor, torch.Tensor):  # the program has replaced it
                continue
            if tensor is holder:
                return _replaced(wanted, path, {(*path, key): like})
            if isinstance(holder, torch.Tensor) and tensor.data_ptr() and _share_memory(tensor, holder):
                item = replace(like, shape=like.shape[1:])
                return _replaced(wanted, path, {(*path, index, key): item for index in range(LIST_ITEMS)})
            for end in range(1, len(path)):
                if isinstance(holder, dict) and key not in holder and _at(arguments, path[:end]) is holder:
                    return _with_key(wanted, path[:end], key)
    return None


def _lookups(error: BaseException) -> Iterator[tuple[Any, str]]:
    """What the line that raised ``error`` looks up: each container with the key."""
    for frame, line in _innermost(error):
        for node in ast.walk(tree_of(frame.f_code) or ast.Pass()):
            match node:
                case ast.Subscript(value=holder, slice=ast.Constant(value=str(key)), lineno=at) if at == line:
                    with contextlib.suppress(Exception):
                        yield value_of(holder, frame), key


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _at(arguments: Any, path: Path) -> Any:
    """What is at ``path``; None if the program has removed it."""
    try:
        return functools.reduce(operator.getitem, path, arguments)
    except (LookupError, TypeError):
        return None


def _replaced(wanted: Wanted, path: Path, new: Wanted) -> Wanted:
    """``wanted`` with other tensors instead of the one at ``path``."""
    return {at: like for old, kept in wanted.items() for at, like in (new.items() if old == path else [(old, kept)])}


def _with_key(wanted: Wanted, container: Path, key: str) -> Wanted:
    """``wanted`` with a further key in the dict at ``container``, and in the other dicts of the same list."""
    depth = len(container)
    pattern = _without_indices(container)
    same = {path[:depth]: like for path, like in wanted.items() if _without_indices(path[:depth]) == pattern}
    return {**wanted, **{(*path, key): like for path, like in same.items()}}


def _without_indices(path: Path) -> tuple[str | None, ...]:
    return tuple(step if isinstance(step, str) else None for step in path)


def solve_inputs(
    root: Callable[..., Any],
    names: Sequence[str],
    flags: Mapping[str, Any],
    guessed: Sequence[Mapping[str, Any]],
    numbers: Collection[str] = (),
    most_runs: int = MOST_RUNS,
    may_run: Callable[[], bool] = lambda: True,
) -> Iterator[Input]:
    """Inputs that ``root`` accepts: a value for each of ``names``, and ``flags``, which stay as they are.

    ``guessed`` are first guesses, the likeliest first. The values of ``numbers``, and of what the text of ``root`` uses
    as a size, are numbers at first, all others are tensors. The program is run at most ``most_runs`` times; ``may_run``
    is asked before each run.
    """
    if not names:
        return
    shapes: list[Mapping[str, TensorLike]] = list(_from_text(root, names, guessed))
    shapes += [{name: _like(guess[name]) for name in names} for guess in guessed if _is_complete(guess, names)]
    shapes += [dict.fromkeys(names, TensorLike(shape)) for shape in ((2,), (2, 16), (2, 16, 16), (2, 3, 32, 32))]
    numeric = written_numbers(forward_of(root)).union(numbers)
    starts: list[Wanted] = [
        {(name,): TensorLike((NUMBER,), "number") if name in numeric else likes[name] for name in names}
        for likes in shapes
    ]
    yield from _InputSolver(root, flags, most_runs, may_run).solve(starts)


def _from_text(
    root: Callable[..., Any], names: Sequence[str], guessed: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, TensorLike]]:
    """Tensors with the shapes that the text of ``root`` mentions.

    Their sizes are those of the tensors in ``guessed``, and the first widths that the layers of ``root`` have.
    """
    known = [tuple(value.shape) for guess in guessed for value in guess.values() if isinstance(value, torch.Tensor)]
    like_guessed = [(None, shape) for shape in dict.fromkeys(known)]
    like_layers = [(width, ()) for width in _widths(root)]
    sizes = [*like_guessed[:MOST_WIDTHS_AT_FIRST], *like_layers[:MOST_WIDTHS_AT_FIRST], (None, ())]
    for shapes, (width, shape) in itertools.product(written_shapes(forward_of(root)), sizes):
        wanted = {name: found for name, found in sizes_of(shapes, width, shape).items() if name in names}
        if wanted and all(map(_is_shape, wanted.values())):
            other = next(iter(wanted.values()))
            yield {name: TensorLike(wanted.get(name, other)) for name in names}


def _is_complete(guess: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(isinstance(guess.get(name), torch.Tensor) for name in names)


def _like(tensor: torch.Tensor) -> TensorLike:
    is_index = not tensor.is_floating_point() and tensor.dtype is not torch.bool
    return TensorLike(tuple(tensor.shape), "index" if is_index else "float")


def _moves(like: TensorLike, told: _ErrorText, widths: Sequence[int]) -> Iterator[TensorLike]:
    """Other tensors to try instead of ``like``, the likeliest first."""
    kinds = [_of_kind(like, kind) for kind in KINDS if kind != like.kind]
    if like.kind == "none":  # it has no shape
        yield from kinds
        return
    if like.kind == "number":
        yield from (replace(like, shape=(number,)) for number in _numbers(like.shape[0], told))
        yield from kinds
        return
    if told.about_kind:
        yield from kinds
    shape = like.shape
    shapes = [*told.shapes]
    shapes += [_with_size(shape, dim, size) for size in told.sizes for dim in reversed(range(len(shape)))]
    shapes += [_with_size(shape, dim, size) for dim, size in _in_proportion(shape, told.sizes)]
    shapes += _with_areas(shape, told)
    shapes += _with_products(shape, told.sizes)
    shapes += [_with_size(shape, dim, 1) for dim in range(1, len(shape))]
    shapes += [shape[1:], shape[:-1], (*shape[:1], 1, *shape[1:]), (*shape, 1)]
    shapes += [(*shape, width) for width in widths]
    shapes += [_with_size(shape, dim, width) for width in widths for dim in reversed(range(1, len(shape)))]
    shapes += [(2, 16), (2,), (2, 16, 16), (2, 3, 32, 32), (2, 3, 8, 32, 32), ()]
    for other in dict.fromkeys(shapes):
        if other != shape and _is_shape(other):
            yield replace(like, shape=other)
    if not told.about_kind:
        yield from kinds


def _of_kind(like: TensorLike, kind: Kind) -> TensorLike:
    return replace(like, kind=kind, shape=(NUMBER,) if kind == "number" else like.shape)


def _alike(like: TensorLike) -> TensorLike:
    """The same for all inputs that may have to change together: equal numbers, and tensors of the same shape."""
    return like if like.kind == "number" else TensorLike(like.shape)


def _numbers(number: int, told: _ErrorText) -> Iterator[int]:
    """Other numbers to try instead of ``number``: sizes, the height or width of a square, and in proportion."""
    squares = [math.isqrt(size) for size in told.sizes if math.isqrt(size) ** 2 == size]
    scaled = [number * math.isqrt(found * wanted) // wanted for wanted, found in told.elements]
    yield from (other for other in dict.fromkeys([*scaled, *told.sizes, *squares, 1]) if 0 < other != number)


def _with_one_changed(wanted: Wanted, name: tuple[str | None, ...], others: Iterable[TensorLike]) -> Iterator[Wanted]:
    """The inputs with each of ``others`` in turn instead of the one that is called ``name``."""
    for new in others:
        yield {path: new if _without_indices(path) == name else like for path, like in wanted.items()}


def _with_alike_changed(wanted: Wanted, alike: TensorLike, others: Iterable[TensorLike]) -> Iterator[Wanted]:
    """The inputs with the shape of each of ``others`` in turn instead of those that are ``alike``."""
    for new in others:
        yield {path: replace(like, shape=new.shape) if _alike(like) == alike else like for path, like in wanted.items()}


def _with_shared_sizes(wanted: Wanted, sizes: Sequence[int]) -> Iterator[Wanted]:
    """The inputs with another one of ``sizes`` instead of one that is in several inputs, wherever it is.

    The size of the first dimension of the first input, probably the batch size, stays.
    """
    counts = Counter(size for like in wanted.values() for size in {*like.shape})
    batch = next((like.shape[:1] for like in wanted.values()), ())
    shared = [size for size in sizes if counts[size] > 1 and size not in batch]
    for old, new in itertools.product(shared, sizes):
        changed = {
            path: replace(like, shape=tuple(new if size == old else size for size in like.shape))
            for path, like in wanted.items()
        }
        if old != new and all(_is_shape(like.shape) for like in changed.values()):
            yield changed


def _in_proportion(shape: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Other sizes for dimensions of ``shape``: what is 4 times as wide as it should be may be computed from a width."""
    for dim in reversed(range(len(shape))):
        for wanted, found in itertools.permutations(sizes[:MOST_IN_PROPORTION], 2):
            if shape[dim] * wanted % found == 0:
                yield dim, shape[dim] * wanted // found


def _with_areas(shape: tuple[int, ...], told: _ErrorText) -> Iterator[tuple[int, ...]]:
    """``shape`` with another height and width (its last two sizes) if the number of pixels has to change."""
    pairs = [*told.elements, *itertools.permutations(told.sizes[:MOST_IN_PROPORTION], 2)]
    for wanted, found in pairs if len(shape) > 2 else ():
        times, parts = math.isqrt(wanted * found), found
        height, width = shape[-2] * times, shape[-1] * times
        if times * times == wanted * found and height % parts == width % parts == 0:
            yield (*shape[:-2], height // parts, width // parts)


def _with_products(shape: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Other sizes for two neighbouring dimensions whose product, one of ``sizes``, may have to be another of them."""
    for dim in range(len(shape) - 1):
        if (product := shape[dim] * shape[dim + 1]) in sizes:
            for wanted, part in itertools.product(sizes, PARTS):
                if wanted != product and wanted % part == 0:
                    yield (*shape[:dim], wanted // part, part, *shape[dim + 2 :])


def _with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """``shape`` with another size of the dimension ``dim``, if there is such a dimension."""
    return (*shape[:dim], size, *shape[dim + 1 :]) if dim < len(shape) else shape


def _is_shape(shape: tuple[int, ...]) -> bool:
    return len(shape) <= LONGEST_SHAPE and 0 < math.prod(shape) <= LARGEST


def _widths(root: Callable[..., Any]) -> list[int]:
    """The sizes that occur most often in the shapes of the weights."""
    if not isinstance(root, torch.nn.Module):
        return [8, 16]
    counts = Counter(size for weight in root.parameters() for size in weight.shape if size > 1)
    return [size for size, _ in counts.most_common(MOST_WIDTHS)]


def _row_counts(root: Callable[..., Any]) -> list[int]:
    """How many rows each embedding has."""
    modules = root.modules() if isinstance(root, torch.nn.Module) else []
    return [module.num_embeddings for module in modules if isinstance(module, torch.nn.Embedding)]
