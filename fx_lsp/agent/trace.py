"""Tracing one target and putting what came of it into a `Report`."""

from __future__ import annotations

import dataclasses
import inspect
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

import fxcore
from fxcore.failures import FailureKind, TraceFailure
from fxcore.noticing import noticing

from .build import SEED, Built, build
from .details import details_of, inputs_for, parameter_count
from .examples import example, for_exploring
from .exploration import all_failures
from .imports import Workspace
from .limits import is_out_of_memory, lift_memory_limit
from .messages import Details, Failure, Outcome, Report, Target
from .places import chain_of_error, chain_of_frames, describe, is_user_code, told
from .untraced import Untraced, is_consequence

LONGEST_CODE = 200_000
"""Characters of generated code that a report carries; a reader wants far fewer."""


DOUBTFUL = frozenset({FailureKind.EXCEPTION, FailureKind.FOREIGN_CALL})
"""Kinds of failure that a tensor without memory can be the cause of."""


class Doubtful(Exception):
    """What failed may owe its failure to the device meta: only a build on the CPU can tell."""


@dataclass(frozen=True)
class ImportedFile:
    """The file whose targets are traced."""

    workspace: Workspace
    namespace: dict[str, Any]
    """Its module's."""
    complete: bool
    """Its code ran to the end; else it used what a failed call of torch.fx of its own yielded (see ``untraced.py``)."""


class TargetRun:
    """The build and trace of one target, in a process of its own."""

    def __init__(self, request: int, target: Target, file: ImportedFile) -> None:
        self._request = request
        self._target = target
        self._file = file
        self._owns = file.workspace.owns
        self._start = time.perf_counter()
        self._built: Built | None = None

    def report(self, outcome: Outcome, *failures: Failure, nodes: int = 0, code: str = "") -> Report:
        """The target's report, with the time since the run began."""
        seconds = time.perf_counter() - self._start
        return Report(self._request, self._target.key, outcome, failures, nodes, code, seconds)

    def run(self, *, on_meta: bool) -> Report:
        """Build and trace. Raises `Doubtful` where that failed with ``on_meta`` and might not without."""
        try:
            built = self._build(on_meta)
        except BaseException as error:
            return self._not_built(error, on_meta)
        if isinstance(built.root, Untraced) or not is_traceable(built.root):
            return self.report("skipped")
        try:
            return self._traced(built)
        except BaseException as error:
            return self._failed(error, on_meta)

    def explore(self, first: Report, *, on_meta: bool) -> Report:
        """``first``, the report of a failed trace, with all the failures that there are."""
        built = self._build(on_meta)  # the trace may have left its mark on the other
        given = example(self._target.recipe.inputs, self._file.namespace)
        return self.report("failed", *all_failures(first.failures[0], built, for_exploring(given, built.root)))

    def details(self, seconds: float) -> Details:
        """What the trace that was just reported brought, for views; it takes about ``seconds`` at most."""
        assert self._built is not None
        torch.manual_seed(SEED)
        namespace = self._file.namespace
        known = example(self._target.recipe.inputs, namespace)
        inputs = inputs_for(self._built, known, self._file.workspace.file, namespace)
        return details_of(self._request, self._target.key, self._built, inputs, seconds)

    def _build(self, on_meta: bool) -> Built:
        built = build(self._target.recipe, self._file.workspace.file, self._file.namespace, on_meta=on_meta)
        torch.manual_seed(SEED)
        self._built = dataclasses.replace(built, tracer=tracer_for(built.tracer))
        return self._built

    def _traced(self, built: Built) -> Report:
        with noticing() as watch:
            graph = built.tracer.trace(built.root, built.concrete_args)
        notices = tuple(
            Failure(notice.kind.value, notice.detail, chain_of_frames(notice.frames))
            for notice in watch.notices(built.root, graph)
        )
        code = graph.python_code("self").src
        report = self.report("traced", nodes=len(graph.nodes), code=code[:LONGEST_CODE])
        return dataclasses.replace(report, notices=notices, parameters=parameter_count(built.root))

    def _not_built(self, error: BaseException, on_meta: bool) -> Report:
        if is_consequence(error) or (isinstance(error, NameError) and not self._file.complete):
            return self.report("skipped")
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta:
            raise Doubtful from error
        chain = chain_of_error(error, self._owns)
        return self.report("not-built", Failure("build", describe(error), chain))

    def _failed(self, error: BaseException, on_meta: bool) -> Report:
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta and not (isinstance(error, TraceFailure) and error.kind not in DOUBTFUL):
            raise Doubtful from error
        if isinstance(error, TraceFailure):
            failure = told(error)
        else:  # SystemExit and the like
            failure = Failure("exception", describe(error), chain_of_error(error, is_user_code))
        return self.report("failed", failure)

    def _out_of_memory(self, error: BaseException) -> Report:
        lift_memory_limit()
        chain = chain_of_error(error, self._owns)
        return self.report("out-of-memory", Failure("memory-limit", describe(error), chain))


def is_explorable(report: Report) -> bool:
    """Whether there may be more failures behind the one that the report tells: the program was being traced."""
    kinds = {kind.value for kind in FailureKind} - {FailureKind.CALL_BINDING.value}
    return report.outcome == "failed" and report.failures[0].kind in kinds


def is_traceable(root: object) -> bool:
    """Whether ``root`` is what a tracer takes: a module, or a function or method written in Python."""
    return isinstance(root, torch.nn.Module) or (callable(root) and hasattr(inspect.unwrap(root), "__code__"))


def tracer_for(own: object) -> fxcore.Tracer:
    """The tracer to use where the file's own is ``own``, or a class of it.

    One of torch.fx's is asked which modules are leaves; its other hooks make torch.fx's nodes, and are not.
    """
    tracer = own() if isinstance(own, type) else own
    if isinstance(tracer, fxcore.Tracer):
        return tracer
    follower = fxcore.Tracer()
    if isinstance(tracer, torch.fx.Tracer):
        follower.is_leaf_module = tracer.is_leaf_module  # type: ignore[method-assign]
    return follower
