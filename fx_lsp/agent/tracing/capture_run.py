"""Captures one target with ``torch.export`` or ``torch.compile``, and puts the outcome into a `Report`."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.inventing.invented_values import InventedModule
from fx_lsp.agent.messages import Capture, Details, Failure, Outcome, Report, Target, Trace
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.meta_run import MOST_INPUTS
from fx_lsp.agent.running.node_shapes import described
from fx_lsp.agent.running.observation import Input, call, forward_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.running.records import holds_record
from fx_lsp.agent.searching.example_inputs import example_input
from fx_lsp.agent.searching.search_budget import SearchBudget
from fx_lsp.agent.searching.solved_inputs import solutions
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.doubtful_failures import MISSING_VALUE, is_about_stand_in
from fx_lsp.agent.tracing.graph_details import inputs_for, parameter_count
from fx_lsp.agent.tracing.trace_target import LONGEST_CODE, ImportedFile, InconclusiveOnMeta, TargetRun

if TYPE_CHECKING:
    from fx_lsp.agent.capturing.captures import Captured

# `capturing` is imported only when something is to be captured: it loads the machinery of torch.compile.

Tell = Callable[[Report], None]

NO_INPUTS = "no inputs were found that it accepts; specify some with `# fx: inputs(…)`"

NO_OBJECTS = "it takes objects of a class that fx-lsp doesn't know; specify some with `# fx: inputs(…)`"

TOO_LARGE = "some of the inputs that were tried need more memory than allowed; specify some with `# fx: inputs(…)`"


class CaptureRun(TargetRun):
    """The build and one capture of one target."""

    def __init__(self, request: Trace, target: Target, file: ImportedFile) -> None:
        super().__init__(request.id, target, file)
        self._capture: Capture = request.capture
        self._on_meta = True
        self._inputs = ""
        self._given: Input | None = None
        """The example inputs of the capture that was reported."""
        self._captured_graph: Captured | None = None
        """The capture that was reported, if it worked."""
        self._met_too_large = False
        """Whether a guessed input took more memory than the limit allows."""
        self._faked = ExitStack()
        """Puts the weights back that were replaced by fake ones."""
        self._is_redirected = False
        """Whether the program's calls ask for an accelerator, so that it has to be compiled with what redirects it."""
        self.reached_end = False
        """Whether `further` has followed the program to its end, so that there is no other failure behind those found.
        After a graph break, it never does for certain: torch may leave the rest of a function uncompiled."""

    def run(self, *, on_meta: bool) -> Report:
        """Build and capture. Raises `InconclusiveOnMeta` if that fails with ``on_meta`` and might not without it."""
        from fx_lsp.agent.capturing.captures import why_not_checked

        if reason := why_not_checked():
            return self.report("unchecked", reason=f"{_NAMES[self._capture]} was not tried: {reason}")
        self._on_meta = on_meta
        return super().run(on_meta=on_meta)

    def details(self, inputs: str) -> Iterator[Details]:
        """Yield the details of the graph of a capture that worked, for the input of that capture."""
        from fx_lsp.agent.capturing.captured_graph import details_of_graph

        captured = self._captured_graph
        if captured is not None and captured.graph is not None:
            yield details_of_graph(
                self._request, self._target.key, captured.graph, captured.state, self.root, self._inputs
            )

    def complete(self, first: Report, tell: Tell) -> None:
        """Find out what takes other runs: further failures behind ``first``, or the limits of its batch.

        ``tell`` is given a report whenever more is known. Every run is made on a fresh build, since a capture may have
        modified what was built for it.
        """
        if first.outcome == "failed":
            self.further(first, tell)
        elif first.outcome == "traced":
            tell(self._with_batch(first))

    def _with_batch(self, first: Report) -> Report:
        """``first``, the report of a capture that worked, with what keeps it from serving for other batches, too."""
        from fx_lsp.agent.capturing.export_capture import limits_of_batch, with_batch_of_two
        from fx_lsp.agent.capturing.recompilations import recompilation
        from fx_lsp.agent.capturing.torch_internals import silence

        assert self._given is not None
        if self._capture == "compile":
            root, given = self._fresh(self._given)
            with silence(), self._compiling():
                return dataclasses.replace(first, notices=recompilation(root, given))
        of_two = with_batch_of_two(self._given)
        if of_two is not self._given and (of_two is None or not self._accepts(of_two)):
            return first  # its example has no batch, or is a single item that can't become one
        root, given = self._fresh(self._given)
        with silence():
            limits = limits_of_batch(root, given)
        return first if limits is None else dataclasses.replace(first, notices=limits, dynamic_batch=not limits)

    def _accepts(self, given: Input) -> bool:
        """Whether a new build of the program runs to its end with ``given``."""
        root = self._build(self._on_meta).root
        mode, faked = self._fake(root)
        with mode:
            return _error_of_call(root, faked(given)) is None

    def further(self, first: Report, tell: Tell) -> None:
        """Find further failures behind that of ``first``; ``tell`` is given a report whenever one more is known."""
        from fx_lsp.agent.capturing.captures import with_first
        from fx_lsp.agent.capturing.further_export_failures import failures_of_export
        from fx_lsp.agent.capturing.graph_breaks import graph_breaks
        from fx_lsp.agent.capturing.redirection import is_redirecting
        from fx_lsp.agent.capturing.torch_internals import silence

        def found(failures: Sequence[Failure]) -> None:
            known = [failure for failure in failures if not is_about_stand_in(failure.error)]
            tell(dataclasses.replace(first, failures=with_first(first.failures[0], known)))

        assert self._given is not None
        with silence():
            if self._capture == "export":
                self.reached_end = failures_of_export(partial(self._fresh, self._given), self._real, found)
            else:
                if is_redirecting() and self._on_meta and not self._is_redirected:
                    self._is_redirected = self._asks_for_accelerator(self._given, on_meta=False)
                graph_breaks(lambda: self._build(on_meta=False).root, self._given, found, self._compiling)

    def _build(self, on_meta: bool) -> Built:
        """As for a trace, but what was built before must not be used any more: it has no fake weights from now on.

        It may be the same model, if the file itself builds it.
        """
        self._faked.close()
        return super()._build(on_meta)

    def _fresh(self, given: Input) -> tuple[Callable[..., Any], Input]:
        """A new build of the program, and ``given``, both fake if the capture was made with fake weights."""
        root = self._build(self._on_meta).root
        return root, self._fake(root)[1](given)

    def _real(self) -> tuple[Callable[..., Any], Input]:
        """A new build of the program with real tensors, and the input of the capture that was reported."""
        assert self._given is not None
        return self._build(on_meta=False).root, self._given

    def report(self, outcome: Outcome, *failures: Failure, nodes: int = 0, code: str = "", reason: str = "") -> Report:
        """The target's report, with the inputs that it is for."""
        report = super().report(outcome, *failures, nodes=nodes, code=code, reason=reason)
        return dataclasses.replace(report, inputs=self._inputs)

    def _traced(self, built: Built) -> Report:
        if self._capture == "export" and not isinstance(built.root, torch.nn.Module):
            return self.report("unchecked", reason="torch.export takes a module, and this is a function")
        if isinstance(built.root, torch.nn.Module) and any(isinstance(m, InventedModule) for m in built.root.modules()):
            return self.report("unchecked", reason="fx-lsp invented a module that it contains")
        if built.has_invented_tensors:  # their shapes decide which inputs fit
            return self.report("unchecked", reason="fx-lsp invented a tensor that it is built with")
        known = example_input(built.recipe.inputs, self._file.namespace)
        fixed = built.concrete_args if isinstance(built.concrete_args, dict) else {}
        if known is not None:
            return self._with_known(built, Input(known.args, {**known.kwargs, **fixed}), fixed)
        return self._with_guess(built, fixed)

    def _with_known(self, built: Built, given: Input, fixed: Mapping[str, Any]) -> Report:
        """Capture for the inputs that the workspace shows."""
        captured = self._captured(built.root, given)
        if captured.failures and not captured.is_certain:
            if self._on_meta:
                raise InconclusiveOnMeta  # fake weights may be to blame
            fresh = self._build(on_meta=False)  # the failed capture may have modified what was built for it
            if error := _error_of_call(fresh.root, given):
                if built.recipe.file:  # another file's call may be meant for another version of the program
                    return self._with_guess(self._build(on_meta=False), fixed)
                shown = describe(error).partition("\n")[0]
                return self.report("unchecked", reason=f"with the inputs that the file shows, it raises {shown}")
        return self._reported(built, given, captured)

    def _with_guess(self, built: Built, fixed: Mapping[str, Any]) -> Report:
        """Capture for the first guess that the program accepts when it is called.

        With fake weights, only a success is reported: whether the program accepts an input shows when it really runs.
        """
        given = self._accepted_guess(built, fixed)
        if given is None:
            return self.report("unchecked", reason=TOO_LARGE if self._met_too_large else NO_INPUTS)
        if holds_record([*given.args, *given.kwargs.values()]):  # a capture follows the methods of its real class
            return self.report("unchecked", reason=NO_OBJECTS)
        fresh = self._build(self._on_meta)  # the calls may have modified what was built for them
        captured = self._captured(fresh.root, given)
        if captured.failures and self._on_meta:
            raise InconclusiveOnMeta
        return self._reported(fresh, given, captured)

    def _captured(self, root: Callable[..., Any], given: Input) -> Captured:
        from fx_lsp.agent.capturing.redirection import is_redirecting

        if self._capture != "compile" or not is_redirecting():
            return self._captured_now(root, given)
        self._is_redirected = self._asks_for_accelerator(given, on_meta=self._on_meta)
        # Not ``root``: it may be what was just called, and the call may have modified it.
        captured = self._captured_now(self._build(self._on_meta).root, given)
        if not self._is_redirected and _meets_accelerator(captured):
            self._is_redirected = True
            captured = self._captured_now(self._build(self._on_meta).root, given)
        return captured

    def _captured_now(self, root: Callable[..., Any], given: Input) -> Captured:
        from fx_lsp.agent.capturing.torch_internals import silence

        seed()
        faked = self._fake(root)[1]
        with silence(), self._compiling():
            captured = _capture_function(self._capture)(root, faked(given))
        if self._on_meta and not captured.failures and not captured.is_certain:
            raise InconclusiveOnMeta
        return captured

    def _compiling(self) -> AbstractContextManager[None]:
        from fx_lsp.agent.capturing.redirection import compiling

        return compiling(redirected=self._is_redirected) if self._capture == "compile" else nullcontext()

    def _asks_for_accelerator(self, given: Input, *, on_meta: bool) -> bool:
        """Whether a call of the program with ``given`` asks for an accelerator, or fails before it could.

        With fake weights, a call ends where it needs values: what follows may ask for an accelerator after all.
        """
        from fx_lsp.agent.capturing.redirection import AcceleratorWatch

        root = self._build(on_meta).root
        mode, faked = self._fake(root) if on_meta else (nullcontext(), lambda one: one)
        with mode, AcceleratorWatch() as watch:
            error = _error_of_call(root, faked(given))
        return watch.has_asked or (error is not None and not _needs_values(error))

    def _accepted_guess(self, built: Built, fixed: Mapping[str, Any]) -> Input | None:
        """The likeliest input that the program accepts; raises `InconclusiveOnMeta` if only real weights can tell."""
        guesses = inputs_for(built, None, self._file.workspace.file, self._file.namespace)
        likeliest = list(itertools.islice(guesses, MOST_INPUTS))  # before the weights become fake: guesses use them
        mode, faked = self._fake(built.root)
        for given in likeliest:
            error = self._error_of_guess(built.root, faked(given), mode)
            if error is None:
                return self._with_batch_dimension(built.root, given, fixed, mode, faked)
            if self._on_meta and _needs_values(error):
                raise InconclusiveOnMeta
        if self._on_meta:
            raise InconclusiveOnMeta
        found = _solution(built.root, fixed)
        if found is None:
            return None
        return self._with_batch_dimension(built.root, found, fixed, nullcontext(), lambda one: one)

    def _error_of_guess(self, root: Any, given: Input, mode: AbstractContextManager[Any]) -> Exception | None:
        """What the program raises when it is called with a guess; if memory runs out, the guess is to blame."""
        try:
            with mode:
                return _error_of_call(root, given)
        except Exception as error:
            self._met_too_large = True
            return error

    def _with_batch_dimension(
        self,
        root: Any,
        given: Input,
        fixed: Mapping[str, Any],
        mode: AbstractContextManager[Any],
        faked: Callable[[Input], Input],
    ) -> Input:
        """``given``, or a batch of two if all its tensors are vectors and the program accepts a batch of them, too.

        The arguments ``fixed`` stay as they are.
        """
        kwargs = {name: value for name, value in given.kwargs.items() if name not in fixed}
        tensors = tensors_of([*given.args, *kwargs.values()])
        if not tensors or any(tensor.dim() != 1 or not tensor.is_floating_point() for tensor in tensors):
            return given
        batch = Input(map_tensors(_stacked, given.args), {**given.kwargs, **map_tensors(_stacked, kwargs)})
        return given if self._error_of_guess(root, faked(batch), mode) else batch

    def _fake(self, root: Any) -> tuple[AbstractContextManager[Any], Callable[[Input], Input]]:
        """Make the weights of ``root`` fake if it was built on the meta device.

        Returns the mode for calls of ``root``, and what to do to its inputs.
        """
        from fx_lsp.agent.capturing.fake_weights import fake_input, fake_weights
        from fx_lsp.agent.capturing.torch_internals import fake_mode

        if not self._on_meta:
            return nullcontext(), lambda given: given
        mode = fake_mode()
        if isinstance(root, torch.nn.Module):
            self._faked.enter_context(fake_weights(root, mode))
        return mode, partial(fake_input, mode)

    def _reported(self, built: Built, given: Input, captured: Captured) -> Report:
        bound = inspect.signature(forward_of(built.root)).bind(*given.args, **given.kwargs)
        self._inputs, self._given = described(bound), given
        if _meets_accelerator(captured):
            return self.report("unchecked", reason=f"{_NAMES[self._capture]} met an accelerator, which fx-lsp hides")
        if captured.failures and is_about_stand_in(captured.failures[0].error):
            return self.report("unchecked", reason=MISSING_VALUE)
        outcome: Outcome = "failed" if captured.failures else "traced"
        self._captured_graph = captured if outcome == "traced" else None
        report = self.report(outcome, *captured.failures, code=captured.code[:LONGEST_CODE])
        return dataclasses.replace(report, parameters=parameter_count(built.root))

    def _by_default(self, built: Built, on_meta: bool) -> Report | None:
        return None

    def _failed(self, error: BaseException, built: Built, on_meta: bool) -> Report:
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta:
            raise InconclusiveOnMeta from error
        return self.report("unchecked", reason=f"{_NAMES[self._capture]} was not tried: {describe(error)}")


_MEETS_ACCELERATOR = re.compile(r"\bCUDA\b|device='(cuda|mps|xpu)\b")
"""In the errors that torch raises only where an accelerator is missing or hidden. Code for accelerators is redirected
to the CPU, but in torch 2.11, torch.compile does not follow that everywhere."""


def _meets_accelerator(captured: Captured) -> bool:
    """Whether a capture failed for lack of an accelerator."""
    return bool(captured.failures) and _MEETS_ACCELERATOR.search(captured.failures[0].error) is not None


_NAMES = {"export": "torch.export", "compile": "torch.compile"}


def _capture_function(capture: Capture) -> Callable[[Any, Input], Captured]:
    if capture == "export":
        from fx_lsp.agent.capturing.export_capture import capture_by_export

        return capture_by_export
    from fx_lsp.agent.capturing.compile_capture import capture_by_compile

    return capture_by_compile


def _stacked(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack((tensor, tensor.flip(0)))


def _solution(root: Callable[..., Any], fixed: Mapping[str, Any]) -> Input | None:
    """The first input that is found by running the program and changing what did not fit, if any is found."""
    with SearchBudget() as budget:
        return next(solutions(root, fixed, budget.may_run), None)


def _error_of_call(root: Callable[..., Any], given: Input) -> Exception | None:
    """What the program raises when it is called with ``given``; None if it accepts that input.

    Raises the error if memory runs out.
    """
    from fx_lsp.agent.capturing.torch_internals import silence

    found: Exception | None = None
    for has_gradients in (False, True):
        try:
            with torch.set_grad_enabled(has_gradients), silence():
                call(root, given)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            found = error
            if "does not require grad" in str(error):  # the program computes a gradient itself
                continue
            return error
        return None
    return found


def _needs_values(error: Exception) -> bool:
    """Whether a call with fake tensors ended where the program needs their values."""
    from fx_lsp.agent.capturing.torch_internals import DATA_DEPENDENT

    return isinstance(error, DATA_DEPENDENT)
