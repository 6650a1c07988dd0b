"""Finds all places of one program, in processes that know nothing of fx-lsp.

    python benchmarks/capture_oracle/all_places.py LIBRARY NAME export|compile real|false|opposite OUTPUT

The result is written as JSON.
"""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
import torch._dynamo
import torch.export

from benchmarks.capture_oracle import answers
from benchmarks.capture_oracle.attempts import ATTEMPTS, Stop
from benchmarks.capture_oracle.mending import Mend, conditions_at, expressions_around, mended, rewrite_files
from benchmarks.capture_oracle.programs import program
from benchmarks.oracle.places import Place

MOST_PLACES = 100
MOST_SECONDS = 120
"""The time limit of each process."""

Result = dict[str, Any]


def attempt(library: str, name: str, capture: str, mends: list[Mend]) -> Stop | None:
    """Where the mended program can't be captured."""
    _prepare()
    rewrite_files(mends)
    return ATTEMPTS[capture](*program(library, name))


def runs(library: str, name: str, mends: list[Mend]) -> bool:
    """Whether a call of the mended program works: it may need what a call did that a mend has replaced."""
    _prepare()
    rewrite_files(mends)
    model, args, kwargs = program(library, name)
    try:
        model(*args, **kwargs)
    except Exception:
        return False
    return True


def record(library: str, name: str, mends: list[Mend]) -> dict[int, list[Any]]:
    """What a real run of the program yields at each place that has no values yet."""
    _prepare()
    rewrite_files(mends)
    model, args, kwargs = program(library, name)
    answers.recorded.clear()  # what was recorded while it was built
    model(*args, **kwargs)
    return answers.recorded


def _prepare() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """Call ``work`` in a new process."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(work, args).get(MOST_SECONDS)


def all_places(library: str, name: str, capture: str, answer: Callable[[list[Any]], list[Any]]) -> Result:
    """The places in the order in which they are met, those of which no part was looked into, and what ended the search.

    ``answer`` makes what a mended condition yields of what it yields in the real run. Where that leads to an error that
    can't be mended, the last such condition yields what it does in the real run after all.
    """
    sites: list[Any] = []
    covered: list[Place] = []
    gap = _look(library, name, capture, answer, sites, covered)
    return {"sites": sites, "covered": covered, "gap": gap}


def _look(
    library: str,
    name: str,
    capture: str,
    answer: Callable[[list[Any]], list[Any]],
    sites: list[Any],
    covered: list[Place],
) -> str | None:
    """Add to ``sites`` and ``covered``; returns why it ends before the program is captured, None if it is."""
    mends: list[Mend] = []
    final: set[Any] = set()
    """The places whose mend is that of the real run, whatever ``answer`` says."""
    while True:
        try:
            stop: Stop | None = apart(attempt, library, name, capture, mends)
        except multiprocessing.TimeoutError:
            return f"the capture took more than {MOST_SECONDS} s"
        if stop is None:
            return None
        try:
            if mends and not any(mend.is_forced for mend in mends) and not apart(runs, library, name, mends):
                return f"{stop.why} at {stop.place}, but the mended program does not run either"
            stop = asked_about(library, name, capture, stop, mends)
            mends.append(mend_of(library, name, stop, mends, as_in_the_real_run if stop.place in final else answer))
        except Exception as error:
            forced = [number for number, mend in enumerate(mends) if mend.is_forced]
            if not forced:
                return f"{stop.why} at {stop.place} can't be mended: {error}"
            final.add(mends[forced[-1]].place)
            del mends[forced[-1] :]
            continue
        if stop.site not in [site for site, _ in sites]:
            sites.append((stop.site, stop.why))
        if mends[-1].place != stop.place:  # it had to be mended as a whole
            covered.append(mends[-1].place)


def asked_about(library: str, name: str, capture: str, stop: Stop, mends: list[Mend]) -> Stop:
    """``stop`` at the operand that torch asks about, if its place is that of a whole ``and`` or ``or``.

    It is the first one at which the capture still stops once the others are mended.
    """
    known = [mend.place for mend in mends]
    conditions = [place for place in conditions_at(stop.place) if place not in known] if stop.place else []
    for condition in conditions:
        try:
            others = [replace(stop, place=place) for place in conditions if place != condition]
            more = [mend_of(library, name, other, mends, as_in_the_real_run) for other in others]
        except ValueError:
            return stop
        again = apart(attempt, library, name, capture, [*mends, *more]) if others else stop
        if again is not None and again.place == stop.place:
            return replace(stop, place=condition, site=condition if stop.site == stop.place else stop.site)
    return stop


def mend_of(library: str, name: str, stop: Stop, mends: list[Mend], answer: Callable[[list[Any]], list[Any]]) -> Mend:
    """How to go on at the place where a capture stopped; raises an exception if that isn't possible.

    If what the place yields can't be written down, such as a method, an expression around it is replaced.
    """
    if stop.place is None or len(mends) == MOST_PLACES:
        raise ValueError("nothing is known about it")
    tried, error = [mend.place for mend in mends], ValueError("it was tried")
    for place in expressions_around(stop.place):
        if place in tried:
            continue
        mend = Mend(place, stop.is_output)
        seen = apart(record, library, name, [*[known for known in mends if known.is_forced], mend])
        values = list(*seen.values()) or [None]
        given = answer(values)
        mend = replace(mend, values=tuple(given), is_forced=given != values)
        try:
            mended(ast.parse(Path(place[0]).read_text(encoding="utf-8")), len(mends), mend)
            return mend
        except ValueError as unwritable:
            error = unwritable
    raise error


def as_in_the_real_run(values: list[Any]) -> list[Any]:
    """The answers themselves."""
    return values


def false(values: list[Any]) -> list[Any]:
    """Every condition is false."""
    return [False] if _are_answers(values) else values


def opposite(values: list[Any]) -> list[Any]:
    """Every condition that is always false or always true has the other answer; a loop ends nevertheless."""
    if not _are_answers(values) or len(set(values)) > 1:
        return values
    return [False] if values[0] else [True, True, False]


def _are_answers(values: list[Any]) -> bool:
    return all(isinstance(value, bool) for value in values)


PASSES = {"real": as_in_the_real_run, "false": false, "opposite": opposite}


if __name__ == "__main__":
    library, name, capture, way, output = sys.argv[1:]
    found = all_places(library, name, capture, PASSES[way])
    assert not any(module.partition(".")[0] in ("fx_lsp", "fxcore") for module in sys.modules)
    Path(output).write_text(json.dumps(found, indent=1), encoding="utf-8")
