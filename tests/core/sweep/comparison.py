"""One model, traced by both: the same verdict, and then the same graph and outputs, or the same failure."""

from __future__ import annotations

import copy
import functools
import gc
import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
import torch.fx
from torch import nn

import fxcore
from fxcore.failures import TraceFailure
from fxcore.source import is_user_file, span_at
from tests.core.oracle import assert_same_failure, assert_same_graph, assert_same_values, attempt
from tests.core.sweep.cases import LARGEST, Case, build, size

SHAPES = (
    (1, 3, 64, 64),
    (1, 3, 128, 128),
    (1, 3, 224, 224),
    (1, 3, 256, 256),
    (1, 3, 384, 384),
    (1, 3, 8, 112, 112),
    (1, 3, 16, 224, 224),
)
"""Of images and clips; outputs are compared for the first that a model accepts."""


@dataclass(frozen=True)
class Result:
    """What came of one case: ``traced`` or ``failed`` by both alike, ``differs``, or ``not built``."""

    case: Case
    outcome: str
    detail: str = ""
    ran: bool = False
    """Whether outputs were compared, too."""

    @property
    def line(self) -> str:
        """For a log."""
        ran = "ran" if self.ran else ""
        return f"{self.outcome:9} {ran:3} {self.case.title} {self.detail}"


def check(case: Case) -> Result:
    """Build and compare one model."""
    warnings.simplefilter("ignore")
    module = attempt(functools.partial(build, case))
    if isinstance(module, Exception):
        return Result(case, "not built", f"{type(module).__name__}: {module}"[:120])
    try:
        outcome = compare(case, module)
        ran = outcome == "traced" and case.runs and size(module) <= LARGEST and compare_outputs(case)
        return Result(case, outcome, ran=ran)
    except Exception as error:
        return Result(case, "differs", f"{type(error).__name__}: {error}"[:2000])
    finally:
        del module
        gc.collect()


def compare(case: Case, module: nn.Module) -> str:
    """Trace a module with both and compare. ``"traced"`` or ``"failed"``; AssertionError says what differs."""
    fresh = copy.deepcopy(module)  # forwards that keep what they compute would hand our values to torch.fx
    ours = attempt(lambda: fxcore.symbolic_trace(fresh, case.concrete_args))
    theirs = attempt(lambda: torch.fx.symbolic_trace(module, case.concrete_args))
    assert_same_failure(ours, theirs)
    if not isinstance(theirs, Exception):
        assert_same_graph(ours, theirs)
        stacks = [[node.meta.get("nn_module_stack") for node in traced.graph.nodes] for traced in (ours, theirs)]
        assert stacks[0] == stacks[1], "nn_module_stack differs"
        return "traced"
    assert isinstance(ours, TraceFailure)
    place = users_innermost(theirs.__traceback__)
    # The callers of this function are the user to torch.fx, which has no frame of theirs to show.
    if place is not None and place.tb_frame.f_code.co_filename != __file__:
        assert ours.span == span_at(place.tb_frame.f_code, place.tb_lasti), f"{ours.span} differs"
    return "failed"


def users_innermost(traceback: TracebackType | None) -> TracebackType | None:
    """The innermost part of a traceback whose code is the user's."""
    found = None
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = traceback
        traceback = traceback.tb_next
    return found


def compare_outputs(case: Case) -> bool:
    """Run what both make of the model, built with numbers; AssertionError where a bit differs.

    False where the model accepts none of the inputs tried.
    """
    torch.manual_seed(0)
    module = case.build()
    images = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) for shape in SHAPES)
    x = next((x for x in images if not isinstance(attempt(functools.partial(_run, module, x)), Exception)), None)
    if x is None:
        return False
    fresh = copy.deepcopy(module)
    theirs = _run(torch.fx.symbolic_trace(module, case.concrete_args), x)
    assert_same_values(_run(fxcore.symbolic_trace(fresh, case.concrete_args), x), theirs)
    return True


def _run(module: Any, x: torch.Tensor) -> Any:
    torch.manual_seed(2)
    with torch.no_grad():
        return module(x)
