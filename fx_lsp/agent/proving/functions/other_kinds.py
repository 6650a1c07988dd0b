"""Arguments of other kinds than tensors, for a function that is run alone.

Nobody knows what its program gives it: a list, a size or a number in the place of a tensor may suit the function before
an edit, and not after it.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch

from fx_lsp.agent.proving.functions.edited_function import functions_of
from fx_lsp.agent.proving.functions.node_kinds import TENSOR
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_inputs import FoundInputs
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.running.observation import Input, forward_of, observe
from fx_lsp.agent.searching.input_search import LEAST
from fx_lsp.agent.searching.search_budget import SearchBudget

SHARE = 1 / 2
"""Of a `SearchBudget`."""

MOST_GIVEN = 2
"""How many of the inputs get other kinds of arguments; one if the program is costly."""

MOST_TEXTS = 12
"""How many of the strings of a function are tried in the place of another one."""

MOST_ITEMS = 8
"""How many items a tensor may have that becomes a list of them."""


def inputs_of_other_kinds(program: Program, found: FoundInputs) -> tuple[Input, ...]:
    """Inputs like the first of those that were ``found``, but of other kinds, as far as ``program`` accepts them.

    Raises `ProofEnded` if there are too many to try.
    """
    given = [given for given in found.inputs if not given.other_mode][: 1 if len(found.inputs) <= LEAST else MOST_GIVEN]
    accepted = []
    with SearchBudget(SHARE) as budget:
        for other in (other for one in given for other in _of_other_kinds(program, one)):
            if not budget.may_run():
                raise ProofEnded("untried", "it takes too long to try other kinds of arguments", True)
            ChildRunner.go_on()
            with suppress(Exception):
                observe(program.built.root, other, program.state, program.names, gradients=found.gradients == "all")
                accepted.append(other)
    return tuple(accepted)


def _of_other_kinds(program: Program, given: Input) -> Iterator[Input]:
    """``given`` with something else for each tensor that is not annotated as one, for all, and for plain values."""
    signature = inspect.signature(forward_of(program.built.root))
    bound = signature.bind(*given.args, **given.kwargs)
    bound.apply_defaults()
    others = {
        name: _others(value)
        for name, value in bound.arguments.items()
        if isinstance(value, torch.Tensor) and signature.parameters[name].annotation not in TENSOR
    }
    changes = [{name: other} for name, values in others.items() for other in values]
    if len(others) > 1:
        changes += [dict(zip(others, values, strict=True)) for values in zip(*others.values(), strict=True)]
    texts = _texts_in(forward_of(program.built.root))
    changes += [{name: other} for name, value in bound.arguments.items() for other in _other_plain(value, texts)]
    for change in changes:
        arguments = {**bound.arguments, **change}
        changed = inspect.BoundArguments(signature, arguments)
        yield Input(changed.args, changed.kwargs)


def _others(tensor: torch.Tensor) -> list[Any]:
    """What a program may have in the place of ``tensor``, such as a list of two like it, or of its items."""
    items = [*tensor.unbind()] if tensor.dim() and len(tensor) <= MOST_ITEMS else []
    return [(tensor, tensor), [tensor, tensor], (*items,), items, tensor.shape, 3, 0.5, None]


def _other_plain(value: Any, texts: list[str]) -> list[Any]:
    """What a program may have in the place of a plain value; ``texts`` are strings that it may choose from."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value + 0.5, value - 2, None]
        case str():
            return [text for text in (*texts, "") if text != value]
        case None:
            return [1, 0.5, torch.ones(())]
    return []


def _texts_in(function: Callable[..., Any]) -> list[str]:
    """Some of the strings in the definition of a function, also if only a part of it is run."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines = linecache.getlines(code.co_filename) if code else []
    definition = dict(functions_of(ast.parse("".join(lines)).body)).get(getattr(function, "__qualname__", ""))
    parts = ast.walk(definition) if definition else iter(())
    found = (node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [*itertools.islice(dict.fromkeys(found), MOST_TEXTS)]
