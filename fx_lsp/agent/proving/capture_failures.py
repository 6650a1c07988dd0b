"""What `torch.export` or `torch.compile` makes of a program, before and after an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from fx_lsp.agent.messages import Capture, Report, Trace
from fx_lsp.agent.proving.failure_matching import FoundFailures, place_of, span_of
from fx_lsp.agent.proving.result_comparison import difference_in_graph
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.proving.trial_runs import ProgramRuns, check_outputs
from fx_lsp.agent.running.observation import Input, observe
from fx_lsp.agent.traceback_steps import describe
from fx_lsp.agent.tracing.capture_run import CaptureRun
from fx_lsp.agent.tracing.trace_target import ImportedFile, InconclusiveOnMeta


def captured_failures(apart: ChildRunner, file: ImportedFile, request: Trace) -> FoundFailures:
    """The places that stop the capture of the only target of ``request``. Raises `ProofEnded` if it was not tried."""
    found = apart(partial(_found, file, request, on_meta=True)) or apart(partial(_found, file, request, on_meta=False))
    if found is None or found[0].outcome not in ("traced", "failed"):
        raise ProofEnded("untried", (found and found[0].reason) or "the target could not be captured")
    report, complete = found
    owns = file.workspace.owns
    spans = [(place_of(failure, owns), span_of(failure, owns)) for failure in report.failures]
    places = Counter(place for place, _ in spans)
    lines = frozenset((place, span.file, span.line) for place, span in spans if span)
    reported = tuple((place, failure) for (place, _), failure in zip(spans, report.failures, strict=True))
    return FoundFailures(places, places, lines, complete=complete, doubtful=False, reported=reported)


def check_captured(capture: Capture, program: Program, runs: ProgramRuns, *, must_succeed: bool) -> None:
    """Raises `ProofEnded` if the captured program does not return what ``runs`` has recorded.

    Only inputs like the first are tried, since a capture holds for its sizes only. Buffers and gradients are not
    compared. Unless the capture ``must_succeed``, a program that can't be captured is not compared: another failure is
    left.
    """
    alike = _with_sizes_of_first(runs)
    given = alike.inputs[0]
    try:
        with _restoring_buffers(program.state):
            captured = _captured(capture, program.built.root, given)
    except Exception as error:
        if not must_succeed:
            return
        raise ProofEnded("untried", f"given {given}, the capture raises {describe(error)}") from None
    check_outputs(captured, "the captured program", program.state, alike, difference_in_graph)
    if isinstance(captured, torch.fx.GraphModule):
        _check_batch(program, alike)


def check_fake_kernels(program: Program, runs: ProgramRuns) -> None:
    """Raises `ProofEnded` if an operator of the program returns other sizes or strides than its fake implementation.

    This needs no capture, so it is also found out if another failure is left. What can't be run under a mode, as some
    calls of ``torch.cond``, is not checked. Run this in a process of its own: it marks functions, so that
    ``torch.compile`` does not look into them.
    """
    from fx_lsp.agent.capturing.torch_internals import checking_fake_kernels, silence

    for given in runs.inputs:
        ChildRunner.go_on()
        with suppress(Exception), silence(), checking_fake_kernels() as wrong:
            observe(program.built.root, given, program.state, frozenset(), gradients=False)
        if wrong:
            why = f"`{wrong[0]}` returns another size, dtype or stride than its fake implementation"
            raise ProofEnded("refuted", f"given {given}, {why}")


@contextmanager
def _restoring_buffers(state: torch.nn.Module) -> Iterator[None]:
    """After the block, the buffers of ``state`` are what they were before it."""
    places = [(module._buffers, name) for module in state.modules() for name in module._buffers]
    saved = [(held[name], None if (tensor := held[name]) is None else tensor.clone()) for held, name in places]
    try:
        yield
    finally:
        with torch.no_grad():
            for (held, name), (tensor, values) in zip(places, saved, strict=True):
                held[name] = tensor
                if tensor is not None and values is not None and not torch.equal(tensor, values):
                    tensor.copy_(values)


def _with_sizes_of_first(runs: ProgramRuns) -> ProgramRuns:
    """Those of ``runs`` whose inputs are like the first, apart from the values in tensors.

    Only the first, if the program changes its buffers: then the others' results depend on the calls before.
    """
    in_mode = [at for at, given in enumerate(runs.inputs) if not given.other_mode]
    plain = [at for at in in_mode if runs.inputs[at].weights is None]
    first, *others = (runs.observations[at].buffers for at in plain)
    is_stateful = any(not _is_same(first[name], other.get(name)) for other in others for name in first)
    count = 1 if is_stateful else len(in_mode)
    kept = [at for at in in_mode[:count] if _is_alike(runs.inputs[at], runs.inputs[0])]
    observations = (replace(runs.observations[at], buffers={}, gradients=None) for at in kept)
    inputs = tuple(runs.inputs[at] for at in kept)
    return replace(runs, inputs=inputs, names=frozenset(), observations=tuple(observations))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and bool(torch.equal(one, other))
    return bool(one == other)


def _is_alike(one: Input, other: Input) -> bool:
    """Whether a program that was captured for ``other`` can be called with ``one``."""
    (values, spec), (others, other_spec) = (tree_flatten((each.args, dict(each.kwargs))) for each in (one, other))
    return spec == other_spec and all(map(_has_same_type, values, others))


def _has_same_type(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return (one.shape, one.stride(), one.dtype) == (other.shape, other.stride(), other.dtype)
    return type(one) is type(other) and bool(one == other)


def _check_batch(program: Program, first: ProgramRuns) -> None:
    """Raises `ProofEnded` if the program exports with a dynamic batch, and the result differs from it for another one.

    Whether the program itself does what it did before the edit has been checked for inputs of other sizes, too.
    """
    from fx_lsp.agent.capturing.export_capture import exported_with_batch
    from fx_lsp.agent.capturing.torch_internals import silence

    with silence(), _restoring_buffers(program.state):
        found = exported_with_batch(program.built.root, first.inputs[0])
    if found is None:
        return
    captured, other = found
    try:
        with _restoring_buffers(program.state):
            expected = observe(program.built.root, other, program.state, frozenset(), gradients=False)
    except Exception:  # the program accepts only some sizes, or its result can't be compared
        return
    runs = replace(first, inputs=(other,), observations=(replace(expected, buffers={}, gradients=None),))
    check_outputs(captured, "the program captured with a dynamic batch", program.state, runs, difference_in_graph)


def _captured(capture: Capture, root: Callable[..., Any], given: Input) -> Callable[..., Any]:
    from fx_lsp.agent.capturing.export_capture import exported  # loads the machinery of torch.compile
    from fx_lsp.agent.capturing.redirection import AcceleratorWatch, compiling, is_redirecting
    from fx_lsp.agent.capturing.torch_internals import silence

    with silence():
        if capture == "export":
            return exported(root, given, None).module()
        is_redirected = False
        if is_redirecting():
            with AcceleratorWatch() as watch:
                root(*given.args, **given.kwargs)
            is_redirected = watch.has_asked
        compiled = torch.compile(root, backend="eager", fullgraph=True)

        def run(*args: Any, **kwargs: Any) -> Any:
            with compiling(redirected=is_redirected):
                return compiled(*args, **kwargs)

        run(*given.args, **given.kwargs)
        return run


def _found(file: ImportedFile, request: Trace, *, on_meta: bool) -> tuple[Report, bool] | None:
    """What a capture comes to, and whether it was followed to the end of the program.

    None if it has to be tried again with real weights.
    """
    run = CaptureRun(request, request.targets[0], file)
    try:
        report = run.run(on_meta=on_meta)
    except InconclusiveOnMeta:
        return None
    if report.outcome != "failed":
        return report, True
    ChildRunner.go_on()
    found = [report]
    run.further(report, found.append)
    return found[-1], run.reached_end
