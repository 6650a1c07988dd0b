"""The failures of a program before and after an edit, told apart by kind and expression: an edit moves lines."""

from __future__ import annotations

import ast
import dataclasses
import linecache
from collections import Counter
from functools import partial

import torch

from fxcore.explore import explore
from fxcore.failures import FailureKind
from fxcore.source import SourceSpan

from .apart import Apart, Settled
from .build import SEED, Built, build
from .messages import Failure, Span, Target
from .trace import DOUBTFUL, ImportedFile, tracer_for

Place = tuple[str, str]
"""A kind of failure and the expression that failed, however it is laid out."""

Places = Counter[Place]
"""How many places there are of each sort."""

LONGEST_SHOWN = 60
"""Characters of an expression in a reason."""


def places(apart: Apart, file: ImportedFile, target: Target) -> Places:
    """Where the trace of ``target`` can't go through. Raises `Settled` where that can't be told."""
    try:
        found, doubtful = apart(partial(_explored, file, target, on_meta=True))
    except Settled:
        doubtful = True
    if doubtful:
        found, _ = apart(partial(_explored, file, target, on_meta=False))
    return found


def place_of(failure: Failure) -> Place:
    """The place of a failure that was reported of the text that this process has imported."""
    return failure.kind, _expression(failure.chain[-1].span if failure.chain else None)


def check_places(before: Places, after: Places, mended: Places) -> None:
    """Raises `Settled` unless ``mended``, a part of ``before``, are gone ``after`` the edit, and none is new."""
    for (_, expression), count in mended.items():
        if after[_, expression] > before[_, expression] - count:
            raise Settled("refuted", f"{_shown(expression)} still fails")
    for _, expression in after - before:
        raise Settled("refuted", f"{_shown(expression)} fails then")


def _shown(expression: str) -> str:
    cut = expression if len(expression) <= LONGEST_SHOWN else f"{expression[: LONGEST_SHOWN - 1]}…"
    return f"`{cut}`"


def _explored(file: ImportedFile, target: Target, *, on_meta: bool) -> tuple[Places, bool]:
    """The places, and whether tensors without memory may be the reason for the first of them.

    As in a report, an error of the program's own counts only where nothing was assumed before it.
    """
    if _traces(_built(file, target, on_meta)):
        return Counter(), False
    built = _built(file, target, on_meta)  # the trace may have left its mark on the other
    sites = explore(built.root, built.concrete_args, tracer=built.tracer).sites
    kept = [site for at, site in enumerate(sites) if at == 0 or site.failure.kind is not FailureKind.EXCEPTION]
    doubtful = on_meta and bool(sites) and sites[0].failure.kind in DOUBTFUL
    return Counter((site.failure.kind.value, _expression(site.failure.span)) for site in kept), doubtful


def _built(file: ImportedFile, target: Target, on_meta: bool) -> Built:
    torch.manual_seed(SEED)
    built = build(target.recipe, file.workspace.file, file.namespace, on_meta=on_meta)
    return dataclasses.replace(built, tracer=tracer_for(built.tracer))


def _traces(built: Built) -> bool:
    try:
        built.tracer.trace(built.root, built.concrete_args)
    except Exception:
        return False
    return True


def _expression(span: Span | SourceSpan | None) -> str:
    if span is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    text = b"".join(lines).decode(errors="replace")
    try:
        return ast.unparse(ast.parse(f"({text})", mode="eval"))
    except (SyntaxError, ValueError):
        return " ".join(text.split())
