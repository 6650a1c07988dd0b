"""Captures a program with ``torch.export``: for the sizes of the example, and with a dynamic batch."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from fx_lsp.agent.capturing.captures import Captured, batch_size, step_of_forward
from fx_lsp.agent.capturing.torch_internals import (
    DATA_DEPENDENT,
    has_fake_constants,
    has_unknown_output,
    is_data_dependent_number,
    lacks_fake_kernel,
    watching_specializations,
)
from fx_lsp.agent.messages import Failure, Step
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.traceback_steps import chain_of_error, chain_of_frames, describe, is_outside_python
from fxcore.source import stack_places, traceback_places, user_frames
from fxcore.source.syntax import operation_at

_CERTAIN = frozenset({"data-dependent-guard", "data-dependent-size", "unsupported-output"})
"""The kinds of failure that neither fake weights nor an unsuitable input can cause."""


def capture_by_export(root: Callable[..., Any], given: Input) -> Captured:
    """Export the module ``root`` for the example ``given``; the tensors of both may be fake.

    What the program or torch raises becomes a failure; only the error that memory ran out is raised.
    """
    try:
        program = exported(root, given, None)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        failure = export_failure(error, root)
        return Captured((failure,), is_certain=failure.kind in _CERTAIN)
    signature = program.graph_signature
    state = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    code = program.graph_module.print_readable(print_output=False)
    return Captured(
        code=code, graph=program.graph_module, state=state, is_certain=not has_fake_constants(program.constants)
    )


def limits_of_batch(root: Callable[..., Any], given: Input) -> tuple[Failure, ...] | None:
    """The place that keeps the batch of an exported program from being dynamic, as a notice; nothing if it is dynamic.

    The module ``root`` can be exported for the example ``given``. None if that has no batch.
    """
    batched = with_batch_of_two(given)
    return None if batched is None else _limits_of_batch(root, batched)


def exported(root: Callable[..., Any], given: Input, sizes: Any) -> ExportedProgram:
    """The module ``root`` as a program for the example ``given``; ``sizes`` are its ``dynamic_shapes``."""
    assert isinstance(root, torch.nn.Module)
    return torch.export.export(root, tuple(given.args), dict(given.kwargs), dynamic_shapes=sizes, strict=False)


def export_failure(error: Exception, root: Callable[..., Any]) -> Failure:
    """Why an export of ``root`` raised ``error``."""
    kind = kind_of(error)
    if kind == "unsupported-output":
        return Failure(kind, describe(error), step_of_forward(root, at_return=True))
    chain = chain_of_error(error, is_outside_python) or step_of_forward(root)
    return Failure(kind, describe(error), chain, operation=_operation(error))


def kind_of(error: Exception) -> str:
    """The kind of the failure that is the reason for ``error``."""
    if has_unknown_output(error):
        return "unsupported-output"
    if is_data_dependent_number(error):
        return "data-dependent-size"
    if isinstance(error, DATA_DEPENDENT):
        return "data-dependent-guard"
    return "missing-fake-kernel" if lacks_fake_kernel(error) else "export-error"


def _operation(error: Exception) -> str:
    """What the user's code was doing when ``error`` was raised; see ``fxcore.source.syntax.operation_at``."""
    frames = user_frames(traceback_places(error.__traceback__))
    return operation_at(frames[-1].place) if frames and frames[-1].place else ""


def with_batch_of_two(given: Input) -> Input | None:
    """``given``, with a batch of 2 if it has one of 1, which torch takes for a constant; None if it has no batch."""
    size = batch_size(given)
    if size != 1:
        return given if size else None
    return Input(map_tensors(_twice, given.args), map_tensors(_twice, dict(given.kwargs)))


def _twice(tensor: torch.Tensor) -> torch.Tensor:
    return torch.cat([tensor, tensor]) if tensor.dim() else tensor


def exported_with_batch(root: Callable[..., Any], given: Input) -> tuple[torch.fx.GraphModule, Input] | None:
    """``root`` exported with a dynamic batch, and an input with another batch than ``given``; None if that fails."""
    batched = with_batch_of_two(given)
    if batched is None:
        return None
    try:
        program = exported(root, batched, _dynamic_sizes(root, batched))
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return None
    larger = Input(map_tensors(_with_one_more, batched.args), map_tensors(_with_one_more, dict(batched.kwargs)))
    return (program.module(), larger) if _is_dynamic(program) else None


def _with_one_more(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` with its first item once more at the end."""
    return torch.cat([tensor, tensor[:1]]) if tensor.dim() else tensor


def _limits_of_batch(root: Callable[..., Any], given: Input) -> tuple[Failure, ...]:
    """The place that keeps the batch from being dynamic, as a notice; nothing if it is dynamic."""
    specialized: list[tuple[Step, ...]] = []
    error = _error_with_dynamic_batch(root, given, specialized)
    if error is None:
        return ()
    text = describe(error) if isinstance(error, Exception) else error
    if specialized:
        return (Failure("specialized-dimension", text, next(filter(None, specialized), ()) or step_of_forward(root)),)
    chain = chain_of_error(error, is_outside_python) if isinstance(error, Exception) else ()
    return (Failure("violated-constraint", text, chain or step_of_forward(root)),)


def _error_with_dynamic_batch(
    root: Callable[..., Any], given: Input, specialized: list[tuple[Step, ...]]
) -> Exception | str | None:
    """What an export with a dynamic batch raises, or what is wrong with its result; None if nothing is.

    ``specialized`` receives the calls that lead to each place where the program makes a number of the batch's size.
    """
    top = _error_with_dynamic_batch.__code__

    def seen() -> None:
        specialized.append(chain_of_frames(user_frames(stack_places(sys._getframe(), top))))

    try:
        with watching_specializations(seen):
            program = exported(root, given, _dynamic_sizes(root, given))
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return error
    return None if _is_dynamic(program) else "the size is a number in the exported program"


def _dynamic_sizes(root: Callable[..., Any], given: Input) -> dict[str, Any]:
    """The ``dynamic_shapes`` of an export in which the batch of every input is dynamic."""
    bound = inspect.signature(forward_of(root)).bind(*given.args, **given.kwargs).arguments
    return {name: _dynamic(value) for name, value in bound.items()}


def _dynamic(value: Any) -> Any:
    """The ``dynamic_shapes`` of one argument, in which the first dimension of each tensor is dynamic."""
    if isinstance(value, torch.Tensor):
        return {0: Dim.DYNAMIC} if value.dim() else None
    if isinstance(value, list | tuple):
        return [_dynamic(item) for item in value] if isinstance(value, list) else tuple(map(_dynamic, value))
    return {key: _dynamic(item) for key, item in value.items()} if isinstance(value, dict) else None


def _is_dynamic(program: ExportedProgram) -> bool:
    """Whether the first size of every input is a symbol in the end."""
    inputs = set(program.graph_signature.user_inputs)
    values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in inputs]
    return all(not isinstance(value.shape[0], int) for value in tensors_of(values) if value.dim())
