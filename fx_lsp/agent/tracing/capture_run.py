"""Captures one target with ``torch.export`` or ``torch.compile``, and puts the outcome into a `Report`."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.invented_values import InventedModule
from fx_lsp.agent.building.random_seeds import seed
from fx_lsp.agent.messages import Capture, Failure, Outcome, Report, Target, Trace
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.example_inputs import example_input
from fx_lsp.agent.running.input_search import solutions
from fx_lsp.agent.running.node_shapes import MOST_INPUTS, described
from fx_lsp.agent.running.observation import Input, call, forward_of
from fx_lsp.agent.running.search_budget import SearchBudget
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.graph_details import inputs_for
from fx_lsp.agent.tracing.trace_target import ImportedFile, InconclusiveOnMeta, TargetRun

if TYPE_CHECKING:
    from fx_lsp.agent.capturing.captures import Captured

# `capturing` is imported only when something is to be captured: it loads the machinery of torch.compile.

NO_INPUTS = "no inputs were found that it accepts; specify some with `# fx: inputs(…)`"


class CaptureRun(TargetRun):
    """The build and one capture of one target."""

    def __init__(self, request: Trace, target: Target, file: ImportedFile) -> None:
        super().__init__(request.id, target, file)
        self._capture: Capture = request.capture
        self._on_meta = True
        self._inputs = ""
        self._dynamic_batch: bool | None = None

    def run(self, *, on_meta: bool) -> Report:
        """Build and capture. Raises `InconclusiveOnMeta` if that fails with ``on_meta`` and might not without it."""
        from fx_lsp.agent.capturing.captures import why_not_checked

        if reason := why_not_checked():
            return self.report("unchecked", reason=f"{_NAMES[self._capture]} was not tried: {reason}")
        self._on_meta = on_meta
        return super().run(on_meta=on_meta)

    def report(self, outcome: Outcome, *failures: Failure, nodes: int = 0, code: str = "", reason: str = "") -> Report:
        """The target's report, with the inputs that it is for."""
        report = super().report(outcome, *failures, nodes=nodes, code=code, reason=reason)
        return dataclasses.replace(report, inputs=self._inputs, dynamic_batch=self._dynamic_batch)

    def _traced(self, built: Built) -> Report:
        if self._capture == "export" and not isinstance(built.root, torch.nn.Module):
            return self.report("unchecked", reason="torch.export takes a module, and this is a function")
        if isinstance(built.root, torch.nn.Module) and any(isinstance(m, InventedModule) for m in built.root.modules()):
            return self.report("unchecked", reason="fx-lsp invented a module that it contains")
        from fx_lsp.agent.capturing.torch_internals import silence

        inputs = self._candidates(built)  # found before the weights become fake: guesses depend on them
        capture, faked = _capture_function(self._capture), self._fake(built.root)
        rejected = None
        for given in inputs:
            seed()
            with silence():
                captured = capture(built.root, faked(given))
            # On the meta device, an error may be due to fake weights; otherwise, the input may not fit.
            if not captured.failures or captured.is_certain or not (self._on_meta or _is_rejected(built.root, given)):
                return self._reported(built, given, captured)
            rejected = rejected or captured.failures[0]
        if self._on_meta:
            raise InconclusiveOnMeta
        shown = rejected.error.partition("\n")[0] if rejected and built.recipe.inputs else ""
        reason = f"with the inputs that the file shows, it raises {shown}" if shown else NO_INPUTS
        return self.report("unchecked", reason=reason)

    def _candidates(self, built: Built) -> Iterable[Input]:
        """Inputs that the program may accept, the likeliest first."""
        fixed = built.concrete_args if isinstance(built.concrete_args, dict) else {}
        known = example_input(built.recipe.inputs, self._file.namespace)
        if known is not None:
            return [Input(known.args, {**known.kwargs, **fixed})]
        guesses = inputs_for(built, None, self._file.workspace.file, self._file.namespace)
        first = list(itertools.islice(guesses, MOST_INPUTS))
        return first if self._on_meta else itertools.chain(first, _solution(built.root, fixed))

    def _fake(self, root: Any) -> Callable[[Input], Input]:
        """Make the weights of ``root`` fake if it was built on the meta device; return what to do to its inputs."""
        from fx_lsp.agent.capturing.fake_weights import fake_input, fake_weights
        from fx_lsp.agent.capturing.torch_internals import fake_mode

        if not self._on_meta:
            return lambda given: given
        mode = fake_mode()
        if isinstance(root, torch.nn.Module):
            fake_weights(root, mode)
        return partial(fake_input, mode)

    def _reported(self, built: Built, given: Input, captured: Captured) -> Report:
        bound = inspect.signature(forward_of(built.root)).bind(*given.args, **given.kwargs)
        self._inputs, self._dynamic_batch = described(bound), captured.dynamic_batch
        report = self.report("failed" if captured.failures else "traced", *captured.failures)
        return dataclasses.replace(report, notices=captured.notices)

    def _by_default(self, built: Built, on_meta: bool) -> Report | None:
        return None

    def _failed(self, error: BaseException, built: Built, on_meta: bool) -> Report:
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta:
            raise InconclusiveOnMeta from error
        return self.report("unchecked", reason=f"{_NAMES[self._capture]} was not tried: {describe(error)}")


_NAMES = {"export": "torch.export", "compile": "torch.compile"}


def _capture_function(capture: Capture) -> Callable[[Any, Input], Captured]:
    if capture == "export":
        from fx_lsp.agent.capturing.export_capture import capture_by_export

        return capture_by_export
    from fx_lsp.agent.capturing.compile_capture import capture_by_compile

    return capture_by_compile


def _solution(root: Callable[..., Any], fixed: Mapping[str, Any]) -> Iterator[Input]:
    """The first input that is found by running the program and changing what did not fit, if any is found."""
    with SearchBudget() as budget:
        found = next(solutions(root, fixed, budget.may_run), None)
    yield from [found] if found else []


def _is_rejected(root: Callable[..., Any], given: Input) -> bool:
    """Whether the program raises an error when it is called with ``given``."""
    try:
        with torch.no_grad():
            call(root, given)
    except Exception:
        return True
    return False
