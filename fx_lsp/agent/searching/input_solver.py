"""Solves for inputs that a program accepts: runs it, reads what did not fit, changes that, and runs it again.

A change of one input (its shape or the kind of its values) is kept if the program makes more calls to torch before it
fails. Sizes come from the error's text, which usually names the sizes that do not fit, and from the layers.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.inventing.checks.failed_checks import names_in_check, numbers_of_check, shapes_of_check
from fx_lsp.agent.missing.missing_modules import MissingCall
from fx_lsp.agent.random_seeds import seed_all
from fx_lsp.agent.running.meta_run import MetaWeights, to_meta
from fx_lsp.agent.running.observation import Input, forward_of, modules_of
from fx_lsp.agent.running.plain_values import map_tensors
from fx_lsp.agent.searching.failing_inputs import failing_inputs
from fx_lsp.agent.searching.input_changes import (
    ErrorText,
    alike_to,
    of_kind,
    other_tensors,
    widths_in,
    with_alike_changed,
    with_item_changed,
    with_last_sizes,
    with_longer_list,
    with_none_for_a_list,
    with_one_changed,
    with_other_dimensions,
    with_other_lengths,
    with_shared_sizes,
    with_smaller_images,
    with_two_broadcast,
    with_two_numbers,
    with_width_moved,
)
from fx_lsp.agent.searching.item_shapes import items_for_submodules
from fx_lsp.agent.searching.missing_keys import innermost, with_missing_argument, with_missing_key
from fx_lsp.agent.searching.named_inputs import named_inputs
from fx_lsp.agent.searching.wanted_inputs import (
    NUMBER,
    Path,
    TensorLike,
    Wanted,
    is_shape,
    put,
    replaced,
    with_lists,
    without_indices,
)
from fx_lsp.agent.searching.written_lists import ITEMS, MOST_ITEMS, WrittenList, written_dicts, written_lists
from fx_lsp.agent.searching.written_shapes import described_keys, sizes_of, written_numbers, written_shapes

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

MOST_RUNS_AHEAD = 24
"""How many more changes are tried after one with which the program fails in a new way, but gets no further."""

MOST_MISSING = 8
"""How many runs may end where something is called, or a value used, that is missing: other inputs get no further."""

STEPS_IF_FAILING = 3
"""How many changes of an input that the failing line is about are tried for each change of another input."""

MOST_RANKED = 4
"""For at most how many inputs all combinations of numbers of dimensions are tried."""

MOST_STARTS_WITH_LISTS = 4
"""For how many of the first guesses lists are tried instead of tensors."""


_MISMATCH = re.compile(r"must match the size of tensor b \(\d+\) at non-singleton dimension (\d+)")

_LACKS_INDICES = "'indices' to have one of the following scalar types: Long"
"""What an embedding says that gets other numbers."""


class _CallCounter(TorchFunctionMode):
    """Counts the calls to torch's functions."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.pixels = 0
        """How many of them return an image of a single pixel."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += 1
        output = func(*args, **(kwargs or {}))
        if isinstance(output, torch.Tensor):
            with torch._C.DisableTorchFunction():
                self.pixels += output.dim() > 3 and output.shape[-2:] == (1, 1)
        return output


@dataclass(frozen=True)
class _Run:
    """How far the program got with some inputs."""

    wanted: Wanted
    calls: int
    error: str | None
    """The text of the exception that it raised; None if it ran to its end."""
    numbers: tuple[int, ...] = ()
    """The numbers that the check that raised the exception compares."""
    shapes: tuple[tuple[int, ...], ...] = ()
    """The tuples of sizes that it compares."""
    misses_optional: bool = False
    """Whether the exception is probably due to a parameter that was left out."""
    checks_optional: bool = False
    """Whether it is raised by a check of a parameter that was left out."""
    about: frozenset[str] = frozenset()
    """The inputs that the line is about that raised the exception."""
    pixels: int = 0
    """How many images of a single pixel the program has computed."""


class _InputSolver:
    """Looks for inputs of one program."""

    def __init__(
        self,
        root: Callable[..., Any],
        flags: Mapping[str, Any],
        left_out: Collection[str],
        most_runs: int,
        may_run: Callable[[], bool],
        *,
        computes: bool,
    ) -> None:
        self._root = root
        self._on_meta = None if computes else MetaWeights(root)
        self._flags = flags
        self._left_out = frozenset(left_out)
        self._left = most_runs
        self._left_missing = MOST_MISSING
        self._may_run = may_run
        self._widths = _widths(root)
        self._described = _described_tensors(root)
        parameters = inspect.signature(forward_of(root)).parameters.values()
        self._takes_any_name = any(one.kind is one.VAR_KEYWORD for one in parameters)
        self._rows = min(_row_counts(root), default=4)
        self._tried: set[tuple[tuple[Path, TensorLike], ...]] = set()
        self._indices: set[Path] = set()
        """The inputs of which an embedding has said that it needs integers."""
        self.lacking: list[Wanted] = []
        """Inputs with which the program gets as far as it does without a parameter that is left out."""
        self.accepted: list[Wanted] = []
        """Inputs that the program accepts."""

    def solve(self, starts: Sequence[Wanted], unlikely: Sequence[Wanted]) -> Iterator[Input]:
        """Inputs that the program accepts, found from the ``starts`` with which it gets furthest.

        If it accepts none of them, the ``unlikely`` starts are tried as well. If the starts differ in their structure,
        the best of each comes first. Then each start gets a third of the runs that are left. There are none if the
        program needs a parameter that is left out.
        """
        runs = [run for start in starts if (run := self._run(start))]
        if runs and all(run.misses_optional for run in runs):
            return
        if all(run.error is not None for run in runs):
            runs += [run for start in unlikely if (run := self._run(start))]
        begun = [*{tuple(run.wanted.items()): run for run in runs}.values()]
        begun.sort(key=lambda run: (run.error is not None, -run.calls))
        structures = [frozenset(run.wanted) for run in begun]
        first = [run for at, run in enumerate(begun) if structures.index(structures[at]) == at]
        chosen = [*first, *(run for run in begun[:MOST_STARTS] if run not in first)]
        for run in chosen:
            end = self._climb(run, least_left=self._left * 2 // 3 if len(first) > 1 else 0)
            if end.error is None:
                end = self._with_smaller_images(end) if self._on_meta else end
                self.accepted.append(end.wanted)
                yield self._input(end.wanted)
                if self._on_meta:  # others would say no more about values
                    return
            elif end.misses_optional:
                self.lacking.append(end.wanted)
                return

    def _with_smaller_images(self, end: _Run) -> _Run:
        """A run like ``end`` with smaller images, if the program accepts any: to compute with large ones takes long.

        They must not be so small that it reduces more of them to a single pixel, for which a mean is a sum.
        """
        runs = (run for wanted in with_smaller_images(end.wanted) if (run := self._run(wanted)) and run.error is None)
        return next((run for run in runs if run.pixels == end.pixels), end)

    def _climb(self, best: _Run, least_left: int) -> _Run:
        """Change the inputs as long as the program gets further, or gets equally far and fails in a new way.

        Ends where the program needs a parameter that is left out. ``least_left`` of the runs are left to others.
        """
        met = {best.error}
        while best.error is not None and not best.misses_optional and (run := self._further(best, met, least_left)):
            best = run
            met.add(best.error)
        return best

    def _further(self, best: _Run, met: Collection[str | None], least_left: int) -> _Run | None:
        """A run that gets further than ``best``, or equally far and fails in a way that is not in ``met``; else None.

        Once a run has failed in a new way, `MOST_RUNS_AHEAD` more may find one that gets further.
        """
        new, ahead = None, MOST_RUNS_AHEAD
        for changed in self._changes(best):
            if self._left <= least_left or not ahead:
                break
            run = self._run(changed)
            if run is None:
                continue
            if run.error is None or run.calls > best.calls:
                return run
            if new is not None:
                ahead -= 1
            if self._is_new(run, best, met) and (new is None or _fits_better(run.error or "", new.error or "")):
                new = run
        return new

    def _is_new(self, run: _Run, best: _Run, met: Collection[str | None]) -> bool:
        """Whether ``run`` got as far as ``best`` and failed in a way that is not in ``met``, or with better sizes."""
        if run.calls != best.calls:
            return False
        known = {_without_sizes(error or "") for error in met}
        return _without_sizes(run.error or "") not in known or _fits_better(run.error or "", best.error or "")

    def _run(self, wanted: Wanted) -> _Run | None:
        """Run the program; None if it has been run with these inputs before, or if there were too many runs."""
        wanted = {path: self._as_indices(path, like) for path, like in wanted.items()}
        key = tuple(wanted.items())
        if key in self._tried or self._left <= 0:
            return None
        if not self._may_run():
            self._left = 0
            return None
        self._tried.add(key)
        self._left -= 1
        given = self._input(wanted)
        kwargs = map_tensors(to_meta, dict(given.kwargs)) if self._on_meta else given.kwargs
        context = self._on_meta.used() if self._on_meta else contextlib.nullcontext()
        seed_all()
        with torch.no_grad(), warnings.catch_warnings(), _CallCounter() as counter:
            warnings.simplefilter("ignore")
            try:
                with context:
                    self._root(**kwargs)
            except Exception as error:
                if isinstance(error, MissingCall) or StandIn.__name__ in str(error):
                    self._left_missing -= 1
                    self._left = self._left if self._left_missing else 0
                if (more := self._with_missing(error, wanted, given)) is not None:
                    return self._run(more)
                calls, text = counter.count, f"{type(error).__name__}: {error}"
                about = failing_inputs(error, forward_of(self._root))
                numbers, shapes = _compared(error)
                checks_optional = self._checks_optional(error)
                has_none = any(like.kind == "none" for like in wanted.values())
                misses_optional = checks_optional or (bool(self._left_out) and "NoneType" in text and not has_none)
                return _Run(wanted, calls, text, numbers, shapes, misses_optional, checks_optional, about)
        return _Run(wanted, counter.count, None, pixels=counter.pixels)

    def _as_indices(self, path: Path, like: TensorLike) -> TensorLike:
        return of_kind(like, "index") if path in self._indices and like.kind == "float" else like

    def _with_missing(self, error: Exception, wanted: Wanted, given: Input) -> Wanted | None:
        """``wanted`` with what the program lacks, as ``error`` shows; None if it lacks nothing that can be added.

        If it lacks indices, the only input that the line that fails is about holds them.
        """
        if _LACKS_INDICES in str(error):
            about = wanted.keys() & {(name,) for name in failing_inputs(error, forward_of(self._root))}
            if len(about) == 1 and not about <= self._indices:
                self._indices |= about
                return wanted
        if self._takes_any_name and (more := with_missing_argument(error, wanted, forward_of(self._root))) is not None:
            return more
        return with_missing_key(error, wanted, given.kwargs, self._described)

    def _checks_optional(self, error: BaseException) -> bool:
        checked = {name for frame, line in innermost(error) for name in names_in_check(frame, line)}
        return not self._left_out.isdisjoint(checked)

    def _input(self, wanted: Wanted) -> Input:
        generator = torch.Generator().manual_seed(0)
        arguments: dict[Any, Any] = {}
        for path, like in wanted.items():
            put(arguments, path, like.make(self._rows, generator))
        return Input((), {**with_lists(arguments), **self._flags})

    def _changes(self, run: _Run) -> Iterator[Wanted]:
        """Other inputs: first with one input changed, or a size that several inputs share, then with all inputs of the
        same shape changed, then with two inputs that are broadcast, at last without a list.

        The items of a list change together, and also each of them alone. If the error asks for integers, two inputs
        become numbers first of all; if it says that a list is too short, each list gets another item; if it names the
        length of a list, the list gets another of the lengths that it names. If the line that fails is about some of
        the inputs only, these change more often.
        """
        wanted, told = run.wanted, ErrorText(run.error or "", run.numbers, run.shapes)
        likes = {without_indices(path): like for path, like in wanted.items()}
        groups = [alike for alike, count in Counter(map(alike_to, likes.values())).items() if count > 1]
        others = partial(other_tensors, told=told, widths=self._widths)
        if told.about_ints:
            yield from with_two_numbers(wanted)
        if told.about_length:
            yield from with_longer_list(wanted)
        yield from with_other_lengths(wanted, told.sizes)
        if told.about_dimensions and len(wanted) > 1:
            yield from with_other_dimensions(wanted)
        numbers = [alike for alike in groups if alike.kind == "number"]
        items = [(path, like) for path, like in wanted.items() if isinstance(path[-1], int)]
        moves = [with_shared_sizes(wanted, told), with_last_sizes(wanted, told.sizes)]
        moves += [with_width_moved(wanted, told.sizes)]
        moves += [with_alike_changed(wanted, alike, others(alike)) for alike in numbers]
        tells_apart = not {name[0] for name in likes} <= run.about
        for name, like in likes.items():
            steps = STEPS_IF_FAILING if tells_apart and name[0] in run.about else 1
            moves += [with_one_changed(wanted, name, others(like))] * steps  # that many of its changes in each turn
        moves += [with_item_changed(wanted, path, others(like)) for path, like in items]
        yield from filter(None, itertools.chain.from_iterable(itertools.zip_longest(*moves)))
        for alike in groups:
            if alike.kind != "number":
                yield from with_alike_changed(wanted, alike, others(alike))
        yield from with_two_broadcast(wanted)
        yield from with_none_for_a_list(wanted)


def _without_sizes(text: str) -> str:
    """``text`` without numbers; shapes of any number of dimensions are the same."""
    return re.sub(r"\d+(, ?\d+)*", "", text)


def _fits_better(text: str, other: str) -> bool:
    """Whether both errors are about sizes that do not match, and those of ``text`` are closer to each other.

    Of two tensors, torch compares the sizes from the last dimension to the first. What a layer gets may be a little
    wider or narrower than what it expects.
    """
    dims = [_MISMATCH.search(one) for one in (text, other)]
    if dims[0] is not None and dims[1] is not None:
        return int(dims[0][1]) < int(dims[1][1])
    (wanted, found), (same, before) = (next(iter(widths_in(one)), (0, 0)) for one in (text, other))
    return 0 < wanted == same and abs(found - wanted) < abs(before - wanted)


def _compared(error: BaseException) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The numbers and the tuples of sizes that the check that raised ``error`` compares."""
    checks = innermost(error)
    numbers = (number for frame, line in checks for number in numbers_of_check(frame, line))
    return tuple(numbers), tuple(shape for frame, line in checks for shape in shapes_of_check(frame, line))


def solve_inputs(
    root: Callable[..., Any],
    names: Sequence[str],
    flags: Mapping[str, Any],
    guessed: Sequence[Mapping[str, Any]],
    numbers: Collection[str] = (),
    left_out: Collection[str] = (),
    may_be_none: Collection[str] = (),
    most_runs: int = MOST_RUNS,
    may_run: Callable[[], bool] = lambda: True,
    lacking: list[Wanted] | None = None,
    near: list[Wanted] | None = None,
    *,
    computes: bool = True,
) -> Iterator[Input]:
    """Inputs that ``root`` accepts: a value for each of ``names``, and ``flags``, which stay as they are.

    There are none if ``root`` needs one of the parameters that are ``left_out``, whose default is None. Of those that
    ``may_be_none``, each is also tried alone.

    ``guessed`` are first guesses, the likeliest first. The values of ``numbers``, and of what the text of ``root`` uses
    as a size, are numbers at first, all others are tensors. The program is run at most ``most_runs`` times; ``may_run``
    is asked before each run. ``lacking`` are inputs that probably only lack one of those that ``may_be_none``; it
    receives those that lack one of the parameters that are ``left_out``. If the program does not really compute, it is
    run with `MetaWeights`, and ``near`` receives the inputs that it accepts there; otherwise, these are tried first.
    """
    if not names:
        return
    shapes: list[Mapping[str, TensorLike]] = list(_from_text(root, names, guessed))
    shapes += [{name: _like(guess[name]) for name in names} for guess in guessed if _is_complete(guess, names)]
    shapes += [dict.fromkeys(names, TensorLike(shape)) for shape in ((2,), (2, 16), (2, 16, 16), (2, 3, 32, 32))]
    usual = named_inputs(names)
    shapes = [*({**likes, **usual} for likes in (*shapes[:1], *shapes[-3:]) if usual), *shapes]
    numeric = written_numbers(forward_of(root)).union(numbers)
    starts: list[Wanted] = [
        {(name,): TensorLike((NUMBER,), "number") if name in numeric else likes[name] for name in names}
        for likes in shapes
    ]
    lists = {name: found for name, found in written_lists(forward_of(root)).items() if name in names}
    lengths = _list_lengths(root)
    listed = [one for start in starts[:MOST_STARTS_WITH_LISTS] for one in _with_written_lists(start, lists, lengths)]
    is_certain = any(found.is_certain for found in lists.values())
    tensors = [name for name in names if name not in numeric]
    numbered: Wanted = {(name,): starts[0][name,] for name in names if name in numeric}
    dicts = [name for name in written_dicts(forward_of(root)) if name in tensors]
    listed += [{**numbered, **items} for items in items_for_submodules(root, tensors, lists, dicts)]
    unlikely: list[Wanted] = [{**starts[0], **ranked} for ranked in _of_different_ranks(tensors, _widths(root))]
    starts += list(_one_by_one(starts[0], may_be_none))
    nearly: list[Wanted] = [
        {**dict.fromkeys(starts[0], next(iter(known.values()))), **known} for known in lacking or ()
    ]
    nearly += [one for start in nearly for one in _one_by_one(start, may_be_none)]
    solver = _InputSolver(root, flags, left_out, most_runs, may_run, computes=computes)
    if near is not None and not computes:
        solver.accepted = near
    if computes:
        yield from solver.solve([one for one in near or () if {path[0] for path in one} == {*names}], [])
    yield from solver.solve(listed, []) if is_certain else solver.solve([*nearly, *starts, *listed], unlikely)
    if lacking is not None:
        lacking += solver.lacking


def _one_by_one(start: Wanted, names: Collection[str]) -> Iterator[Wanted]:
    """``start`` with only one of ``names``, and with None for the others; then without one.

    The one is a tensor, an index for each item of the batch, such as a label, or a number.
    """
    none = TensorLike((), "none")
    without = {path: none if path[0] in names else like for path, like in start.items()}
    for name in names if len(names) > 1 else ():
        label = TensorLike(next(iter(start.values())).shape[:1], "index")
        for like in (start[name,], label, TensorLike((NUMBER,), "number")):
            yield {**without, (name,): like}
    for name in names if len(names) > 2 else ():
        yield {**start, (name,): none}


def _described_tensors(root: Callable[..., Any]) -> dict[str, TensorLike]:
    """Tensors by the keys of the dicts that the docstrings of ``root`` and of its parts describe."""
    parts = dict.fromkeys(type(module) for module in modules_of(root))
    written = {key: names for part in [*parts][::-1] for key, names in described_keys(part.forward).items()}
    return {key: TensorLike(shape) for key, shape in sizes_of(written, None).items() if is_shape(shape)}


def _of_different_ranks(names: Sequence[str], widths: Sequence[int]) -> Iterator[Wanted]:
    """Vectors, sequences and images in all combinations, if there are only a few inputs; if very few, also numbers.

    The batch size is 1, which also suits programs that pair each of one input with each of another.
    """
    if 1 < len(names) <= MOST_RANKED and widths:
        shapes = [(1, widths[0]), (1, 16, widths[0]), (1, widths[0], 8, 8), (1,)]
        kinds = [TensorLike(shape) for shape in (shapes if len(names) < MOST_RANKED else shapes[:3])]
        for likes in itertools.product(kinds, repeat=len(names)):
            yield {(name,): like for name, like in zip(names, likes, strict=True)}


def _with_written_lists(start: Wanted, lists: Mapping[str, WrittenList], lengths: Sequence[int]) -> Iterator[Wanted]:
    """``start`` with lists instead of tensors: first only for parameters that can't be tensors, then for all ``lists``.

    ``lengths`` are the numbers of items to try where the text does not show how many there are.
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
    lengths = [len(module) for module in modules_of(root) if isinstance(module, torch.nn.ModuleList)]
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
    if not (modules := modules_of(root)):
        return [8, 16]
    counts = Counter(size for weight in modules[0].parameters() for size in weight.shape if size > 1)
    return [size for size, _ in counts.most_common(MOST_WIDTHS)]


def _row_counts(root: Callable[..., Any]) -> list[int]:
    """How many rows each embedding has."""
    return [module.num_embeddings for module in modules_of(root) if isinstance(module, torch.nn.Embedding)]
