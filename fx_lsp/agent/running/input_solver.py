"""Solves for inputs that a program accepts: runs it, reads what did not fit, changes that, and runs it again.

A change of one input (its shape or the kind of its values) is kept if the program makes more calls to torch before it
fails. Sizes come from the error's text, which usually names the sizes that do not fit, and from the layers.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.building.failed_checks import numbers_of_check, tree_of, value_of
from fx_lsp.agent.building.random_seeds import seed_all
from fx_lsp.agent.own_files import is_own_file
from fx_lsp.agent.running.input_changes import (
    ErrorText,
    alike_to,
    of_kind,
    other_tensors,
    with_alike_changed,
    with_item_changed,
    with_one_changed,
    with_shared_sizes,
    with_size,
)
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.wanted_inputs import (
    NUMBER,
    Path,
    TensorLike,
    Wanted,
    is_shape,
    put,
    replaced,
    value_at,
    with_key,
    with_lists,
    without_indices,
)
from fx_lsp.agent.running.written_lists import ITEMS, MOST_ITEMS, WrittenList, written_lists
from fx_lsp.agent.running.written_shapes import sizes_of, written_numbers, written_shapes
from fxcore import accelerators

MOST_RUNS = 400
"""How often the program is run."""

MOST_STARTS = 3
"""How many of the first guesses the search starts from."""

MOST_WIDTHS = 8
"""How many sizes of layers are tried."""

MOST_WIDTHS_AT_FIRST = 3
"""For how many sizes of layers a first guess is made."""

MOST_LIST_LENGTHS = 3
"""How many lengths of lists are tried."""

MOST_STARTS_WITH_LISTS = 4
"""For how many of the first guesses lists are tried instead of tensors."""


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
        """Inputs that the program accepts, found from the ``starts`` with which it gets furthest.

        If the starts differ in their structure, the best of each comes first. Then each start gets a third of the runs
        that are left.
        """
        runs = [run for start in starts if (run := self._run(start))]
        begun = [*{tuple(run.wanted.items()): run for run in runs}.values()]
        begun.sort(key=lambda run: (run.error is not None, -run.calls))
        structures = [frozenset(run.wanted) for run in begun]
        first = [run for at, run in enumerate(begun) if structures.index(structures[at]) == at]
        chosen = [*first, *(run for run in begun[:MOST_STARTS] if run not in first)]
        for run in chosen:
            end = self._climb(run, least_left=self._left * 2 // 3 if len(first) > 1 else 0)
            if end.error is None:
                yield self._input(end.wanted)

    def _climb(self, best: _Run, least_left: int) -> _Run:
        """Change the inputs as long as the program gets further, or gets equally far and fails in a new way.

        ``least_left`` of the runs are left to others.
        """
        met = {best.error}
        while best.error is not None:
            for changed in self._changes(best):
                run = self._run(changed) if self._left > least_left else None
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
            put(arguments, path, like.make(self._rows, generator))
        return Input((), {**with_lists(arguments), **self._flags})

    def _changes(self, run: _Run) -> Iterator[Wanted]:
        """Other inputs: first with one input changed, or a size that several inputs share, then with all inputs of the
        same shape changed, at last with two inputs changed to masks that are broadcast.

        The items of a list change together, and also each of them alone. If the error asks for integers, two inputs
        become numbers first of all.
        """
        told = ErrorText(run.error or "", run.numbers)
        likes = {without_indices(path): like for path, like in run.wanted.items()}
        items = {path: like for path, like in run.wanted.items() if isinstance(path[-1], int)}
        given = [name for name, like in likes.items() if like.kind != "none"]
        for pair in itertools.combinations(given, 2) if told.about_ints else ():  # such as height and width
            yield {
                path: of_kind(like, "number") if without_indices(path) in pair else like
                for path, like in run.wanted.items()
            }
        counts = Counter(alike_to(like) for like in likes.values())
        groups = [alike for alike, count in counts.items() if count > 1]
        moves: list[Iterable[Wanted]] = [with_shared_sizes(run.wanted, told.sizes)]
        moves += [
            with_alike_changed(run.wanted, alike, other_tensors(alike, told, self._widths))
            for alike in groups
            if alike.kind == "number"
        ]
        moves += [
            with_one_changed(run.wanted, name, other_tensors(like, told, self._widths)) for name, like in likes.items()
        ]
        moves += [
            with_item_changed(run.wanted, path, other_tensors(like, told, self._widths)) for path, like in items.items()
        ]
        yield from filter(None, itertools.chain.from_iterable(itertools.zip_longest(*moves)))
        for alike in groups:
            if alike.kind != "number":
                yield from with_alike_changed(run.wanted, alike, other_tensors(alike, told, self._widths))
        for pair in itertools.combinations(given, 2):
            for dim in range(1, max(len(likes[name].shape) for name in pair)):
                yield {
                    path: replace(like, shape=with_size(like.shape, dim, 1)) if without_indices(path) in pair else like
                    for path, like in run.wanted.items()
                }
        for name in dict.fromkeys(path[:1] for path in items):
            yield {
                **{path: like for path, like in run.wanted.items() if path[:1] != name},
                name: TensorLike((), "none"),
            }


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


def _structured(error: BaseException, wanted: Wanted, arguments: Mapping[str, Any]) -> Wanted | None:
    """``wanted`` with a dict where the program looked up a missing key; None if it did not.

    The program may have looked it up in a tensor, in an item of a tensor that it treats as a list, or in a dict.
    """
    for holder, key in _lookups(error):
        for path, like in wanted.items():
            tensor = value_at(arguments, path)
            if not isinstance(tensor, torch.Tensor):  # the program has replaced it
                continue
            if tensor is holder:
                alike = [other for other in wanted if without_indices(other) == without_indices(path)]
                return functools.reduce(lambda new, one: replaced(new, one, {(*one, key): like}), alike, wanted)
            if isinstance(holder, torch.Tensor) and tensor.data_ptr() and _share_memory(tensor, holder):
                item = replace(like, shape=like.shape[1:])
                return replaced(wanted, path, {(*path, index, key): item for index in range(ITEMS)})
            for end in range(1, len(path)):
                if isinstance(holder, dict) and key not in holder and value_at(arguments, path[:end]) is holder:
                    return with_key(wanted, path[:end], key)
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
    lists = {name: found for name, found in written_lists(forward_of(root)).items() if name in names}
    lengths = _list_lengths(root)
    listed = [one for start in starts[:MOST_STARTS_WITH_LISTS] for one in _with_written_lists(start, lists, lengths)]
    is_certain = any(found.is_certain for found in lists.values())
    yield from _InputSolver(root, flags, most_runs, may_run).solve(listed if is_certain else [*starts, *listed])


def _with_written_lists(start: Wanted, lists: Mapping[str, WrittenList], lengths: Sequence[int]) -> Iterator[Wanted]:
    """``start`` with lists instead of tensors: first only for parameters that can't be tensors, then for all ``lists``.

    ``lengths`` are the numbers of items to try where the text does not tell.
    """
    certain = {name: found for name, found in lists.items() if found.is_certain}
    for chosen, length in itertools.product((certain, lists) if certain != lists else (lists,), lengths):
        wanted = start
        for name, found in chosen.items():
            items = range(found.items or length)
            wanted = replaced(wanted, (name,), {(name, index): start[name,] for index in items})
        if chosen:
            yield wanted


def _list_lengths(root: Callable[..., Any]) -> list[int]:
    """How many items an input may have that is a list: as many as the root's lists of modules."""
    modules = root.modules() if isinstance(root, torch.nn.Module) else []
    lengths = [len(module) for module in modules if isinstance(module, torch.nn.ModuleList)]
    known = [length for length, _ in Counter(lengths).most_common() if 1 < length <= MOST_ITEMS]
    return [*dict.fromkeys([*known, ITEMS])][:MOST_LIST_LENGTHS]


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
        if wanted and all(map(is_shape, wanted.values())):
            other = next(iter(wanted.values()))
            yield {name: TensorLike(wanted.get(name, other)) for name in names}


def _is_complete(guess: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(isinstance(guess.get(name), torch.Tensor) for name in names)


def _like(tensor: torch.Tensor) -> TensorLike:
    is_index = not tensor.is_floating_point() and tensor.dtype is not torch.bool
    return TensorLike(tuple(tensor.shape), "index" if is_index else "float")


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
