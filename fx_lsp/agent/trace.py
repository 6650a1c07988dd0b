"""Tracing one target and putting what came of it into a `Report`."""

from __future__ import annotations

import time
from typing import Any

import torch

import fxcore
from fxcore.failures import FailureKind, TraceFailure

from .build import SEED, Built, build
from .imports import Workspace
from .limits import is_out_of_memory, lift_memory_limit
from .messages import Failure, Outcome, Report, Target
from .places import chain_of_error, chain_of_failure, describe, is_user_code
from .untraced import Untraced, is_consequence

LONGEST_CODE = 200_000
"""Characters of generated code that a report carries; a reader wants far fewer."""


class Doubtful(Exception):
    """What failed may owe its failure to the device meta: only a build on the CPU can tell."""


class TargetRun:
    """The build and trace of one target, in a process of its own."""

    def __init__(self, request: int, target: Target, workspace: Workspace) -> None:
        self._request = request
        self._target = target
        self._workspace = workspace
        self._start = time.perf_counter()

    def report(self, outcome: Outcome, *failures: Failure, nodes: int = 0, code: str = "") -> Report:
        """The target's report, with the time since the run began."""
        seconds = time.perf_counter() - self._start
        return Report(self._request, self._target.key, outcome, failures, nodes, code, seconds)

    def run(self, namespace: dict[str, Any], *, on_meta: bool) -> Report:
        """Build and trace. Raises `Doubtful` where that failed with ``on_meta`` and might not without."""
        try:
            built = build(self._target.recipe, self._workspace.file, namespace, on_meta=on_meta)
        except BaseException as error:
            return self._not_built(error, on_meta)
        if isinstance(built.root, Untraced) or not is_traceable(built.root):
            return self.report("skipped")
        torch.manual_seed(SEED)
        try:
            return self._traced(built)
        except BaseException as error:
            return self._failed(error, on_meta)

    def _traced(self, built: Built) -> Report:
        graph = tracer_for(built.tracer).trace(built.root, built.concrete_args)
        module = built.root if isinstance(built.root, torch.nn.Module) else torch.nn.Module()
        code = fxcore.GraphModule(module, graph).code
        return self.report("traced", nodes=len(graph.nodes), code=code[:LONGEST_CODE])

    def _not_built(self, error: BaseException, on_meta: bool) -> Report:
        if is_consequence(error):
            return self.report("skipped")
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta:
            raise Doubtful from error
        chain = chain_of_error(error, self._workspace.owns)
        return self.report("not-built", Failure("build", describe(error), chain))

    def _failed(self, error: BaseException, on_meta: bool) -> Report:
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        by_proxy = isinstance(error, TraceFailure) and error.kind is not FailureKind.EXCEPTION
        if on_meta and not by_proxy:
            raise Doubtful from error
        if isinstance(error, TraceFailure):
            failure = Failure(error.kind.value, describe(error.__cause__ or error), chain_of_failure(error))
        else:  # SystemExit and the like
            failure = Failure("exception", describe(error), chain_of_error(error, is_user_code))
        return self.report("failed", failure)

    def _out_of_memory(self, error: BaseException) -> Report:
        lift_memory_limit()
        chain = chain_of_error(error, self._workspace.owns)
        return self.report("out-of-memory", Failure("memory-limit", describe(error), chain))


def is_traceable(root: object) -> bool:
    """Whether ``root`` is what a tracer takes: a module or a function."""
    return isinstance(root, torch.nn.Module) or (callable(root) and not isinstance(root, type))


def tracer_for(own: object) -> fxcore.Tracer:
    """The tracer to use where the file's own is ``own``: a tracer of torch.fx's is followed in what it overrides."""
    if isinstance(own, type):
        own = own()
    if isinstance(own, fxcore.Tracer):
        return own
    return fxcore.Tracer()
