"""Arguments of other kinds than tensors, for a function that is run alone.

Nobody knows what its program gives it: a list, a size or a number in the place of a tensor may suit the function before
an edit, and not after it.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch

from fx_lsp.agent.proving.run_in_child import ChildRunner
from fx_lsp.agent.proving.trial_inputs import FoundInputs
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.running.observation import Input, forward_of, observe
from fx_lsp.agent.searching.input_search import LEAST, MOST
from fx_lsp.agent.searching.search_budget import SearchBudget

SHARE = 1 / 3
"""Of a `SearchBudget`."""

MOST_ITEMS = 8
"""How many items a tensor may have that becomes a list of them."""

_TENSOR = (torch.Tensor, "torch.Tensor", "Tensor")
"""The annotation of a tensor, which is text if the file imports ``annotations`` from ``__future__``."""


def inputs_of_other_kinds(program: Program, found: FoundInputs) -> tuple[Input, ...]:
    """Inputs like those that were ``found``, but of other kinds, as far as ``program`` accepts them.

    There are at most `MOST` of them, or `LEAST` if only so few were found, since the program is costly.
    """
    most = LEAST if len(found.inputs) <= LEAST else MOST
    return tuple(itertools.islice(_accepted(program, found), most))


def _accepted(program: Program, found: FoundInputs) -> Iterator[Input]:
    with SearchBudget(SHARE) as budget:
        for given in (given for given in found.inputs if not given.other_mode):
            for other in _of_other_kinds(program, given):
                if not budget.may_run():
                    return
                ChildRunner.go_on()
                with suppress(Exception):
                    observe(program.built.root, other, program.state, program.names, gradients=found.gradients)
                    yield other


def _of_other_kinds(program: Program, given: Input) -> Iterator[Input]:
    """``given`` with something else for each tensor, and for all, unless the parameter is annotated as a tensor."""
    signature = inspect.signature(forward_of(program.built.root))
    others = {
        name: _others(value)
        for name, value in given.by_parameter(program.built.root).items()
        if isinstance(value, torch.Tensor) and signature.parameters[name].annotation not in _TENSOR
    }
    changes = [{name: other} for name, values in others.items() for other in values]
    changes += [dict(zip(others, values, strict=True)) for values in zip(*others.values(), strict=True)]
    for change in changes:
        bound = signature.bind(*given.args, **given.kwargs)
        bound.arguments.update(change)
        yield Input(bound.args, bound.kwargs)


def _others(tensor: torch.Tensor) -> list[Any]:
    """What a program may have in the place of ``tensor``, such as a list of two like it, or of its items."""
    items = [*tensor.unbind()] if tensor.dim() and len(tensor) <= MOST_ITEMS else []
    return [(tensor, tensor), [tensor, tensor], (*items,), items, tensor.shape, 3, 0.5, None]
