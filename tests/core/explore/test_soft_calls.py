"""Calls that refuse traced values while a program is explored: told where torch.fx fails at them, and nowhere else."""

from __future__ import annotations

import textwrap
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.fx
from torch import nn

from fxcore.explore import explore
from fxcore.explore.soft_calls import FUNCTIONS, METHODS, soften_calls, soften_imports
from fxcore.failures import FailureKind
from fxcore.tracing.patching import PatchScope
from tests.core.snippets import define

# fmt: off
DISPATCHED = (
    "as_strided", "chunk", "flatten", "index_select", "kthvalue", "masked_fill", "narrow", "repeat_interleave", "roll",
    "select", "split", "split_with_sizes", "squeeze", "sum", "tensor_split", "topk", "transpose", "tril", "unfold",
    "unsqueeze", "view_as",
)
# fmt: on
"""Methods that C++ hands on to a traced value wherever it stands."""
ARGUMENTS = (
    "n",
    "x",
    "n, 2",
    "2, n",
    "(n, 2)",
    "[2, n]",
    "[[n]]",
    "[x]",
    "{'a': n}",
    "0, 0, n",
    "0, n, n",
    "1, n, 1",
    "0, (n, 2)",
    "(n,), 2",
    "(2,), n",
    "slice(None, n)",
    "(slice(None), slice(0, n))",
    "size=(n, 2)",
    "n, dtype=torch.float32",
    "2, dtype=x.dtype",
    "(2,), device=x.device",
    "dtype=x.dtype",
    "x.dtype",
    "n, fill_value=1",
    "input=x",
)
"""``x`` is a traced tensor and ``n`` a traced number, in every place that an argument can stand in."""


MISREAD = {("self.buffer.new_tensor", "2, dtype=x.dtype")}
"""Where torch reads a traced value's memory for a dtype's: whether that fails, or ends the process, is chance."""


def program(function: str, arguments: str) -> nn.Module:
    """A module that makes one call."""
    body = f"n = x.size(0)\nreturn {function}({arguments})\n"
    forward = define(f"def forward(self, x):\n{textwrap.indent(body, '    ')}", "forward")
    module: nn.Module = type("Program", (nn.Module,), {"forward": forward})()
    module.register_buffer("buffer", torch.arange(24.0).reshape(2, 3, 4))
    module.weight = nn.Parameter(torch.ones(2, 3))
    return module


def traces(module: nn.Module) -> bool:
    """Whether the installed torch.fx does."""
    try:
        torch.fx.Tracer().trace(module)
    except Exception:
        return False
    return True


CALLED = [
    *(f"torch.{name}" for name in FUNCTIONS),
    *(f"self.buffer.{name}" for name in METHODS),
    *(f"self.buffer.{name}" for name in DISPATCHED),
    *(f"torch.{name}" for name in ("narrow", "roll", "select", "topk", "tril")),
    *(f"self.weight.{name}" for name in METHODS if name != "__getitem__"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", CALLED)
def test_a_call_is_told_if_torch_fx_fails_at_it(function: str) -> None:
    modules = {each: program(function, each) for each in ARGUMENTS if (function, each) not in MISREAD}
    told = {arguments for arguments, module in modules.items() if explore(module).sites}
    assert told == {arguments for arguments, module in modules.items() if not traces(module)}


@pytest.mark.parametrize(("function", "arguments"), MISREAD)
def test_no_memory_is_read_that_is_no_dtype(function: str, arguments: str) -> None:
    (site,) = explore(program(function, arguments)).sites
    assert site.failure.kind is FailureKind.FOREIGN_CALL


def test_what_python_asks_for_is_answered() -> None:
    source = """
        def f(x):
            each = [x + i for i in range(x.size(0))]
            one = [1, 2][x.size(1)]
            return each, one, 'ab' * x.dim()
    """
    found = explore(define(source))
    assert [(site.failure.kind, site.assumption) for site in found.sites] == [
        (FailureKind.CONVERSION, "it is 1"),
        (FailureKind.CONVERSION, "it is 1"),
    ]


def test_names_are_put_back_and_keep_what_they_say() -> None:
    before = {name: vars(torch)[name] for name in FUNCTIONS}, {name: getattr(torch.Tensor, name) for name in METHODS}
    calls: list[str] = []

    def call(function: Any, args: Any, kwargs: Any) -> Any:
        calls.append(function.__name__)
        return function(*args, **kwargs)

    with PatchScope() as patches:
        soften_calls(patches, call)
        assert torch.zeros.__name__ == "zeros"
        assert torch.zeros(2).view(1, 2).shape == (1, 2)
    assert calls == ["zeros", "view"]
    assert before == ({name: vars(torch)[name] for name in FUNCTIONS}, {n: getattr(torch.Tensor, n) for n in METHODS})


@pytest.fixture
def library() -> ModuleType:
    """A module of another package, with a function that refuses traced values and one that doesn't."""
    module = ModuleType("a_library")
    exec(
        "def strict(x):\n    assert type(x) in (int, float), 'a number, please'\n    return x\n"
        "def easy(x):\n    return x + 1\n",
        vars(module),
    )
    return module


def test_functions_of_other_packages_are_recorded_where_they_refuse(library: ModuleType) -> None:
    function = define("def f(x):\n    return strict(easy(x)), strict(1), x.sum() > 0 or 2\n")
    namespace = function.__globals__
    namespace.update(strict=library.strict, easy=library.easy)
    found = explore(function)
    assert [site.assumption for site in found.sites] == ["it is recorded", "it is false"]
    assert found.graph is not None
    assert [node.target for node in found.graph.nodes if node.op == "call_function"][1] is library.strict
    assert (namespace["strict"], namespace["easy"]) == (library.strict, library.easy)


def test_own_functions_and_torchs_are_left_alone(library: ModuleType) -> None:
    own = ModuleType("an_application.part")
    exec("def mine(x):\n    return x\n", vars(own))
    namespace = {**vars(own), "strict": library.strict, "relu": nn.functional.relu, "number": 3}
    before = dict(namespace)
    with PatchScope() as patches:
        soften_imports(patches, lambda function, args, kwargs: "called", namespace)
        assert namespace["strict"](1) == "called"
        assert {name for name in before if namespace[name] is not before[name]} == {"strict"}
    assert namespace == before


def test_an_assertion_of_torchs_is_recorded_as_in_a_plain_trace() -> None:
    function = define("def f(x, flag):\n    torch._assert(x.sum() > 0, 'positive')\n    return x if flag else -x\n")
    found = explore(function, {"flag": True})
    assert not found.sites
    assert found.graph is not None
    assert torch._assert in {node.target for node in found.graph.nodes}


def test_what_tells_torch_compile_of_a_tensor_is_recorded() -> None:
    import torch._dynamo

    def marked(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.mark_static_address(x)
        return x[len(x) :]

    assert [site.failure.callee for site in explore(marked).sites] == ["torch.mark_static_address", ""]
    with pytest.raises(TypeError):
        torch.fx.symbolic_trace(marked)
