"""A program that fails, its failure as the editor gets it, and what an edit of it does: run, with torch.fx itself."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import linecache
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import torch
import torch.fx
from torch.utils import _pytree as pytree

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.agent.traceback_steps import to_failure
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix, TextChange
from fx_lsp.targets import find_targets
from fxcore import Tracer
from fxcore.failures import TraceFailure

HEAD = """\
import math

import torch
from torch import nn
from torch.nn import functional as F

TABLE = torch.arange(64.0).view(8, 8)


"""
"""What the programs of the tests begin with."""

Inputs = Sequence[tuple[Any, ...]]

INPUTS: Inputs = [(torch.linspace(-1, 1, a * b * c).view(a, b, c),) for a, b, c in ((2, 3, 4), (1, 3, 8), (3, 5, 4))]
"""What a program of one tensor is run on."""

_numbers = itertools.count()


def function(body: str, parameters: str = "x") -> str:
    """A program whose root, ``f``, does ``body``."""
    return f"{HEAD}def f({parameters}):\n{indent(body.strip(), '    ')}\n"


def applied(source: str, changes: Sequence[TextChange]) -> str:
    """``source`` with the changes made, as an editor makes them."""
    lines = LineIndex(source)
    for change in sorted(changes, key=lambda change: (change.span.line, change.span.col), reverse=True):
        start = lines.offset_of_python(change.span.line, change.span.col)
        end = lines.offset_of_python(change.span.end_line, change.span.end_col)
        source = source[:start] + change.text + source[end:]
    return source


class Program:
    """A file, imported, and its root: ``Net()`` where it defines that, or else ``f``."""

    def __init__(self, folder: Path, source: str) -> None:
        self.source = source
        self.path = folder / f"program_{next(_numbers)}.py"
        self.path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        linecache.checkcache(str(self.path))
        spec.loader.exec_module(module)
        torch.manual_seed(0)
        self.namespace = vars(module)
        self.root: Any = module.Net() if hasattr(module, "Net") else module.f

    def failure(self) -> Failure:
        """Its first failure, as the agent tells it; torch.fx must fail on the same line."""
        with pytest.raises(TraceFailure) as caught:
            Tracer().trace(self.root)
        told = to_failure(caught.value)
        assert told.chain[-1].span.line <= (self.stock_line() or 0) <= told.chain[-1].span.end_line
        return told

    def stock_line(self) -> int | None:
        """The line of this file where torch.fx fails; None where it traces."""
        try:
            torch.fx.symbolic_trace(self.root)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            return next(frame.lineno for frame in reversed(frames) if frame.filename == str(self.path))
        return None

    def fixes(self, fixes: Callable[[Failure, Callable[[str], str | None]], Any]) -> list[Fix]:
        """What one module of fixes offers for the failure."""
        return list(fixes(self.failure(), {str(self.path): self.source}.get))

    def fixes_at_calls(self, fixes: Callable[[Failure, Callable[[str], str | None], Sequence[Span]], Any]) -> list[Fix]:
        """The same of one that edits the calls that trace the root, which are those of the file."""
        targets = find_targets(str(self.path), self.source) or ()
        calls = [target.span for target in targets if target.intent == "explicit"]
        return self.fixes(lambda failure, read: fixes(failure, read, calls))

    def outputs(self, inputs: Inputs) -> list[Any]:
        """What it returns for each of some inputs, and what it leaves of them; for an error, that there was one."""
        return [_outcome(self.root, arguments) for arguments in inputs]

    def traced_outputs(self, inputs: Inputs) -> list[Any]:
        """The same for what torch.fx makes of it."""
        graph_module = torch.fx.symbolic_trace(self.root)
        return [_outcome(graph_module, arguments) for arguments in inputs]


def _outcome(root: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    arguments = pytree.tree_map_only(torch.Tensor, torch.clone, arguments)
    try:
        return root(*arguments)
    except Exception:
        return "an error"


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, tensors bit by bit."""
    (left, left_spec), (right, right_spec) = pytree.tree_flatten(_plain(one)), pytree.tree_flatten(_plain(other))
    return left_spec == right_spec and all(_equal(a, b) for a, b in zip(left, right, strict=True))


def _plain(value: Any) -> Any:
    """``value`` without the types that a graph does not keep apart: shapes are tuples."""
    return pytree.tree_map_only(torch.Size, tuple, value, is_leaf=lambda part: isinstance(part, torch.Size))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        same_kind = one.dtype == other.dtype and one.shape == other.shape
        return same_kind and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)
    return type(one) is type(other) and bool(one == other)


def check(
    folder: Path,
    fixes: Callable[..., Any],
    bad: str,
    good: str,
    *,
    inputs: Inputs = INPUTS,
    then: str | None = None,
) -> Fix:
    """That the only fix for ``bad`` makes ``good`` of it, mends the failure, and changes no result.

    ``then``: the text of the line where the mended program fails after all; None where it traces.
    """
    program = Program(folder, bad)
    (fix,) = program.fixes(fixes)
    text = applied(bad, fix.changes)
    assert text == good, text
    mended = Program(folder, good)
    outputs = program.outputs(inputs)
    assert same(mended.outputs(inputs), outputs)
    assert any(not isinstance(outcome, str) for outcome in outputs)
    line = mended.stock_line()
    assert then == (None if line is None else good.splitlines()[line - 1].strip())
    if line is None:
        assert same(mended.traced_outputs(inputs), outputs)
    return fix


def edited_body(
    fixes: Callable[..., Any], kind: str, head: str, body: str, fails: Callable[[ast.Call], bool]
) -> str | None:
    """``body`` after the first fix for a failure of this kind in a library that the first call with ``fails`` calls.

    None if nothing is offered. ``head`` is what the file begins with, down to the line of the ``def``.
    """
    text = f"{head}{indent(body, '    ')}\n"
    call = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and fails(node))
    span = Span("f.py", call.lineno, call.col_offset, call.end_lineno or 0, call.end_col_offset or 0)
    within = Step("called", Span("library.py", 1, 0, 1, 5))  # where it fails in the library must not matter
    offered = list(fixes(Failure(kind, "", (Step("f", span), within)), {"f.py": text}.get))
    return dedent(applied(text, offered[0].changes).removeprefix(head)) if offered else None


def offered(fixes: Callable[..., Any], body: str, part: str) -> dict[str, str]:
    """What becomes of the body of a function by each fix for a capture's failure at the first ``part`` in it.

    By the titles of the fixes.
    """
    head = "import torch\n\ndef f(x, mask):\n"
    text = f"{head}{indent(body, '    ')}\n"
    line, start = next((number, row.index(part)) for number, row in enumerate(text.split("\n"), 1) if part in row)
    failure = Failure("data-dependent-guard", "", (Step("f", Span("f.py", line, start, line, start + len(part))),))
    found = list(fixes(failure, {"f.py": text}.get))
    return {fix.title: dedent(applied(text, fix.changes).removeprefix(head)).rstrip() for fix in found}


def refuse(folder: Path, fixes: Callable[..., Any], source: str) -> None:
    """That nothing is offered for the failure of ``source``."""
    assert Program(folder, source).fixes(fixes) == []
