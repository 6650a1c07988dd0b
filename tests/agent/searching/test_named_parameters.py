"""Inputs for programs that only pass their arguments on."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.running.observation import modules_of
from fx_lsp.agent.searching.named_parameters import with_named_parameters
from tests.agent.client import Client
from tests.agent.proving.edits import Edit, prove


class Passing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, *args: Any, twice: bool = False, **kwargs: Any) -> Any:
        return self.scaled(*args, **kwargs) * (2 if twice else 1)

    def scaled(self, x: torch.Tensor, scale: float = 2.0) -> Any:
        return self.inner(x) * scale


def test_the_parameters_have_names() -> None:
    root = Passing()
    named = with_named_parameters(root, "x, scale=2.0")
    assert named is not None
    parameters = inspect.signature(named).parameters
    assert {name: one.default for name, one in parameters.items()} == {
        "twice": False,
        "x": inspect.Parameter.empty,
        "scale": 2.0,
    }
    x = torch.rand(2, 3)
    assert torch.equal(named(x=x, scale=3.0, twice=True), root(x, 3.0, twice=True))
    assert modules_of(named) == modules_of(root)


@pytest.mark.parametrize("passed_on", ["", "twice=True", "x x"], ids=["nothing", "a taken name", "no definition"])
def test_not_all_names_can_be_given(passed_on: str) -> None:
    assert with_named_parameters(Passing(), passed_on) is None


PASSING = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def scaled(self, x, scale=2.0):
        return self.inner(x) * scale

    def forward(self, *args, **kwargs):
        return self.scaled(*args, **kwargs)
"""


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("parameters", "verdict"),
    [("x, scale=2.0", "proven"), ("x, scale=3.0", "refuted"), ("*, x, scale=2.0", "untried")],
)
async def test_arguments_that_are_passed_on_can_be_named(client: Client, parameters: str, verdict: str) -> None:
    new = PASSING.replace("*args, **kwargs):", f"{parameters}):").replace("*args, **kwargs)", "x, scale=scale)")
    proof = await prove(client, Edit(PASSING, PASSING, new, root="Net()"))
    assert proof.verdict == verdict, proof.reason
