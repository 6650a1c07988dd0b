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
from benchmarks.capture_oracle.mending import Mend, expressions_around, mended, rewrite_files
from benchmarks.capture_oracle.programs import program

MOST_PLACES = 100
MOST_SECONDS = 120
"""The time limit of each process."""

Result = dict[str, Any]


def attempt(library: str, name: str, capture: str, mends: list[Mend]) -> Stop | None:
    """Where the mended program can't be captured."""
    _prepare()
    rewrite_files(mends)
    return ATTEMPTS[capture](*program(library, name))


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
    """The places in the order in which they are met, and what the oracle could not look behind.

    ``answer`` makes what a mended condition yields of what it yields in the real run. Where that leads to an error that
    can't be mended, the last such condition yields what it does in the real run after all.
    """
    mends: list[Mend] = []
    sites: list[Any] = []
    final: set[Any] = set()
    """The places whose mend is that of the real run, whatever ``answer`` says."""
    while True:
        try:
            stop: Stop | None = apart(attempt, library, name, capture, mends)
        except multiprocessing.TimeoutError:
            return {"sites": sites, "gap": f"the capture took more than {MOST_SECONDS} s"}
        if stop is None:
            return {"sites": sites, "gap": None}
        try:
            mends.append(mend_of(library, name, stop, mends, as_in_the_real_run if stop.place in final else answer))
        except Exception as error:
            forced = [number for number, mend in enumerate(mends) if mend.is_forced]
            if not forced:
                return {"sites": sites, "gap": f"{stop.why} at {stop.place} can't be mended: {error}"}
            final.add(mends[forced[-1]].place)
            del mends[forced[-1] :]
            continue
        if stop.place not in [place for place, _ in sites]:
            sites.append((stop.place, stop.why))


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
