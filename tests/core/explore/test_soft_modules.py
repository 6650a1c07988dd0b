"""What refuses traced values, and is found in a module, doesn't hide the failures behind it."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from fxcore.explore import explore
from fxcore.explore.soft_modules import SoftModule
from fxcore.failures import FailureKind
from fxcore.failures.subject import Subject, subject_of
from fxcore.tracer import Tracer
from tests.core.snippets import define

CALLS = [
    "np.ceil(x.shape[0] / 2)",
    "np.random.permutation(x.shape[0])",
    "np.float32(x.shape[0])",
    "np.stack([x, x])",
    "np.floor(x.shape[0] / 2).astype(int)",
    "torch.Tensor(x.shape[0], 3)",
    "torch.FloatTensor(x.shape[0])",
    "torch.Size([x.shape[0], 3])",
    "x.type(torch.FloatTensor)",
    "torch.autograd.Variable(x)",
    "Variable(x)",
]


def program(body: str) -> Any:
    function = define(f"def f(x):\n{body}")
    function.__globals__.update(torch=torch, np=np, Variable=torch.autograd.Variable)
    return function


@pytest.mark.parametrize("call", CALLS)
def test_the_failure_behind_is_found(call: str) -> None:
    found = explore(program(f"    y = {call}\n    return x if x.sum() > 0 else y\n"))
    assert found.complete
    assert len(found.sites) >= 2
    assert found.sites[-1].failure.kind is FailureKind.CONTROL_FLOW
    assert {site.assumption for site in found.sites[:-1]} == {"it is recorded"}


def test_what_numpy_computes_from_a_shape_depends_on_the_shape() -> None:
    found = explore(program("    side = np.ceil(x.shape[-1] / 2)\n    return x if side > 3 else -x\n"))
    node = found.sites[-1].failure.node
    assert node is not None
    assert subject_of(node) is Subject.SHAPE


def test_a_library_checks_what_it_is_given() -> None:
    body = "    y = torch.distributions.Normal(x, x).rsample()\n    return x if x.sum() > 0 else y\n"
    found = explore(program(body))
    assert found.complete
    assert found.sites[-1].failure.kind is FailureKind.CONTROL_FLOW


def test_classes_and_constants_remain_what_they_are() -> None:
    body = (
        "    assert isinstance(np.ones(2), np.ndarray) and not isinstance(x, (np.ndarray, Variable, torch.Size))\n"
        "    assert isinstance(torch.ones(2), torch.Tensor) and torch.Tensor is kept[0] and np.pi == kept[1]\n"
        "    np.a_setting = np.ceil(1.5)\n"
        "    return x + np.a_setting\n"
    )
    function = program(body)
    function.__globals__["kept"] = torch.Tensor, np.pi
    found = explore(function)
    assert (found.complete, found.sites) == (True, [])
    assert function.__globals__["np"] is np
    assert function.__globals__["torch"] is torch
    assert vars(np).pop("a_setting") == 2


@pytest.mark.parametrize(
    "condition",
    [
        "np == kept",
        "np in {kept: 1}",
        "repr(np) == repr(kept)",
        "(np.__name__, np.__doc__, np.__spec__) == (kept.__name__, kept.__doc__, kept.__spec__)",
        "delattr(np, 'a_setting') is None",
    ],
)
def test_a_replaced_module_passes_for_the_module(condition: str) -> None:
    function = program(f"    np.a_setting = 1\n    assert {condition}\n    return x\n")
    function.__globals__["kept"] = np
    found = explore(function)
    assert (found.complete, found.sites) == (True, [])
    vars(np).pop("a_setting", None)


def test_builtins_remain_in_the_main_module() -> None:
    function = program("    return (lambda: len([x]))() + x\n")
    function.__globals__["__builtins__"] = builtins
    found = explore(function)
    assert (found.complete, found.sites) == (True, [])


def test_what_the_tracer_records_is_recorded() -> None:
    function = program("    return rearrange(x)\n")
    function.__globals__["rearrange"] = rearrange = define("def f(x):\n    return x if x.sum() > 0 else -x\n")
    rearrange.__module__ = "a_package"
    found = explore(function, tracer=Tracer(autowrap_functions=(rearrange,)))
    assert (found.complete, found.sites) == (True, [])


def test_functions_in_other_modules_of_the_program_are_followed(tmp_path: Any) -> None:
    (tmp_path / "own_part.py").write_text("import numpy as np\n\ndef half(n):\n    return np.ceil(n / 2)\n")
    own = ModuleType("own_part")
    own.__file__ = str(tmp_path / "own_part.py")
    exec(compile((tmp_path / "own_part.py").read_text(), own.__file__, "exec"), vars(own))
    function = program("    y = own_part.half(x.shape[0])\n    return x if x.sum() > 0 else y\n")
    function.__globals__["own_part"] = own
    found = explore(function)
    assert [site.failure.kind for site in found.sites] == [FailureKind.FOREIGN_CALL, FailureKind.CONTROL_FLOW]
    assert vars(own)["np"] is np


def test_only_what_is_called_is_replaced() -> None:
    soft: Any = SoftModule(np, lambda function: lambda *args, **kwargs: "called")
    called = soft.ceil(1), soft.linalg.norm(1)  # an assert would be rewritten, and so look them up first
    assert called == ("called", "called")
    ceil = soft.ceil
    assert ceil is np.ceil
    assert isinstance(soft.random, ModuleType)
    assert "ceil" in dir(soft)
    passed_on = (lambda *args: args)(soft.float32, soft.pi)
    assert passed_on == (np.float32, np.pi)
    if sys.version_info >= (3, 11):
        with_keyword = soft.zeros(2, dtype=int)
        assert with_keyword == "called"
