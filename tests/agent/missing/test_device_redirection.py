"""Code for accelerators is built and traced where there is none, and none is ever initialised."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from typing import Any

import pytest
import torch

import fxcore
from fx_lsp.agent.missing.device_redirection import Devices
from tests.agent.client import Client, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

AT_IMPORT = {
    "to": "net = torch.nn.Linear(3, 3).to('cuda')",
    "to a device": "net = torch.nn.Linear(3, 3).to(torch.device('cuda:0'))",
    "to a rank": "rank = 0\nnet = torch.nn.Linear(3, 3).to(rank)",
    "cuda": "net = torch.nn.Linear(3, 3).cuda()",
    "cuda of a rank": "net = torch.nn.Linear(3, 3).cuda(1)",
    "mps": "net = torch.nn.Linear(3, 3, device='mps')",
    "a tensor on a rank": "x = torch.ones(3, device=0).to(1).to(device=0)\nassert x.device.type == 'cpu'",
    "a device with an index": "device = torch.device('cuda', 1)\nx = torch.arange(3, device=device)",
    "a device of a rank": "x = torch.zeros(2, device=torch.device(0))",
    "current device": "x = torch.ones(3).to(torch.cuda.current_device())",
    "set device": "torch.cuda.set_device(0)\nx = torch.ones(3).cuda()\ntorch.cuda.synchronize()",
    "threads": "torch.set_num_threads(4)\nassert torch.get_num_threads() == 1",
    "default device": "torch.set_default_device('cuda')\nx = torch.ones(3)\nassert x.device.type == 'cpu'",
    "within a device": "with torch.device('cuda'):\n    x = torch.ones(3)\nassert x.device.type == 'cpu'",
    "within a cuda device": "with torch.cuda.device(0):\n    x = torch.ones(3).cuda()",
    "guarded": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(3, device=device)",
    "counted": "assert torch.cuda.device_count() == 0",
    "capability": "flash = torch.cuda.get_device_capability()[0] >= 8\nassert not flash",
    "properties": "memory = torch.cuda.get_device_properties(0).total_memory",
    "amp": "with torch.cuda.amp.autocast():\n    x = torch.ones(3, 3) @ torch.ones(3, 3)\ntorch.cuda.amp.GradScaler()",
    "autocast": "with torch.autocast('cuda', dtype=torch.float16):\n    x = torch.ones(3, 3) @ torch.ones(3, 3)",
    "stream": "with torch.cuda.stream(torch.cuda.Stream()):\n    torch.cuda.current_stream().wait_stream(None)",
    "event": "start = torch.cuda.Event(enable_timing=True)\nstart.record()\nassert start.elapsed_time(start) == 0",
    "old types": "x = torch.cuda.FloatTensor(3)\ny = torch.ones(3).type('torch.cuda.HalfTensor')",
    "pinned": "x = torch.ones(3, pin_memory=True).pin_memory()",
    "seeds": "torch.cuda.manual_seed_all(0)\ntorch.cuda.empty_cache()",
    "parallel": "net = torch.nn.DataParallel(torch.nn.Linear(3, 3), device_ids=[0]).cuda()",
    "moved state": "net = torch.nn.Linear(3, 3, device='meta').to_empty(device='cuda')",
}


@pytest.mark.parametrize("name", AT_IMPORT)
async def test_while_imported_and_built(client: Client, name: str) -> None:
    text = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
{body}

    def forward(self, x):
        return x.relu()

{top}
assert not torch.cuda.is_initialized()
"""
    body = AT_IMPORT[name]
    client.write("package/__init__.py", "")
    file = client.write("package/net.py", text.format(body=textwrap.indent(body, " " * 8), top=body))
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures, report.notices) == ("traced", (), ())


IN_FORWARD = {
    "made there": ("x + torch.ones(3, device='cuda')", "x + _tensor_constant0"),
    "made on a rank": ("x + torch.arange(3, device=torch.cuda.current_device())", "x + _tensor_constant0"),
    "moved there": ("x.to('cuda')", "x.to('cuda')"),
    "cuda": ("x.cuda(0).mps() if False else x.cuda(0)", "x.cuda(0)"),
    "made like the input": ("x + torch.zeros(x.size(0), device='cuda:0')", "torch.zeros(size, device = 'cuda:0')"),
    "a part is moved": ("self.part.cuda()(x)", "self.part(x)"),
    "a buffer is moved": ("x + self.table.to(0)", "x + table"),
}


@pytest.mark.parametrize("name", IN_FORWARD)
async def test_while_traced(client: Client, name: str) -> None:
    expression, code = IN_FORWARD[name]
    file = client.write(
        "net.py",
        f"""
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = torch.nn.Linear(3, 3)
                self.register_buffer("table", torch.ones(3))

            def forward(self, x):
                return {expression}
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures) == ("traced", ())
    assert code in report.code


async def test_a_failure_in_code_for_an_accelerator_has_its_place(client: Client) -> None:
    file = client.write("net.py", "def model(x):\n    y = x.cuda()\n    return y if y.sum() > 0 else x\n")
    report = (await client.trace(file, "model")).only
    assert [text_at(failure.chain[-1]) for failure in report.failures] == ["y.sum() > 0"]


INITIALIZED = {
    "normal": "w.data.normal_(0, 0.02)",
    "normal by name": "w.data.normal_(mean=0, std=0.02)",
    "without gradients": "with torch.no_grad():\n    w = w.normal_(0, 0.02, generator=torch.Generator()).erfinv_()",
    "init": "torch.nn.init.normal_(w, std=1e-6)",
    "init by name": "w = torch.nn.init.normal_(tensor=w, mean=0.0, std=1e-6)",
    "kaiming": "w = torch.nn.init.kaiming_normal_(w)",
    "truncated": "w.data.uniform_(-1, 1).erfinv_().mul_(2).clamp_(min=-2, max=2)",
    "clamped by another": "w.data.clamp_(torch.zeros(3, 3), torch.ones(3, 3))",
    "whole numbers": "w = torch.nn.Parameter(torch.zeros(3, 3, dtype=torch.long), requires_grad=False).clamp_(0, 1)",
    "of a class that takes note": "w = Noting(w, requires_grad=False)\nw.normal_()\nassert w.is_noted",
}
MADE_WRONGLY = {
    "a deviation": "w.data.normal_(0, -1)",
    "init": "torch.nn.init.normal_(w, std=-1)",
    "no bounds": "w.data.clamp_()",
    "an argument": "w.data.erfinv_(1)",
    "with gradients": "w.clamp_(0, 1)",
    "whole numbers": "torch.zeros(3, 3, dtype=torch.long).normal_()",
    "without a version": "torch.inference_mode()(torch.zeros)(3, 3).normal_()",
}

WEIGHTS = """
    import torch

    class Noting(torch.nn.Parameter):
        is_noted = False

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.Tensor.normal_:
                args[0].is_noted = True
            return super().__torch_function__(function, types, args, kwargs or {{}})

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            w = torch.nn.Parameter(torch.empty(3, 3))
            {how}
            assert w.shape == (3, 3) and (w.is_meta or not torch.isnan(w).any())
            self.weight = w

        def forward(self, x):
            return x @ self.weight
"""


@pytest.mark.parametrize("name", INITIALIZED)
async def test_weights_without_memory_are_initialized(client: Client, name: str) -> None:
    file = client.write("net.py", WEIGHTS.format(how=INITIALIZED[name].replace("\n", "\n" + " " * 12)))
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures, report.parameters) == ("traced", (), 9)


@pytest.mark.parametrize("name", MADE_WRONGLY)
async def test_errors_in_initializing_weights_are_reported(client: Client, name: str) -> None:
    file = client.write("net.py", WEIGHTS.format(how=MADE_WRONGLY[name]))
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, text_at(report.failures[0].chain[-1])) == ("not-built", MADE_WRONGLY[name])


async def test_numbers_are_assigned_to_elements_of_weights_without_memory() -> None:
    """Nothing is stored, but what is wrong with an assignment is still told."""
    with Devices(on_meta=True):
        table = torch.zeros(2, 3)
        table[1, -1] = 0.5
        table[0, :] = 1.0
        with pytest.raises(IndexError):
            table[2, 0] = 0.5
        with pytest.raises(RuntimeError, match="leaf"):
            torch.zeros(2, requires_grad=True)[0] = 1.0
    assert table.is_meta
    with Devices():
        table = torch.zeros(2)
        table[1] = 0.5
    assert table.tolist() == [0.0, 0.5]


async def test_element_writes_are_usual_again_behind_the_modes() -> None:
    assert "__setitem__" not in vars(torch.Tensor)
    with Devices(), Devices(on_meta=True):
        pass
    with suppress(ValueError), Devices():
        raise ValueError
    assert "__setitem__" not in vars(torch.Tensor)


async def test_subclasses_of_tensors_still_hear_of_element_writes() -> None:
    class Table(torch.Tensor):
        writes = 0

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.writes += function is torch.Tensor.__setitem__
            return super().__torch_function__(function, types, args, kwargs)  # type: ignore[no-untyped-call]

    with Devices():
        table = torch.zeros(2).as_subclass(Table)
        table[1] = 0.5
    assert (Table.writes, table.tolist()) == (1, [0.0, 0.5])


async def test_a_traced_index_is_recorded_within_the_mode() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            table = torch.zeros(3)
            table[x] = 1.0
            return table

    with Devices(on_meta=True):
        within = fxcore.symbolic_trace(Net())
    assert within.code == fxcore.symbolic_trace(Net()).code


async def test_an_assignment_of_the_programs_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(tensor: torch.Tensor, index: Any, value: Any) -> None:
        torch._C.TensorBase.__setitem__(tensor, index, -value)

    monkeypatch.setattr(torch.Tensor, "__setitem__", own)
    with Devices(on_meta=True):
        assert vars(torch.Tensor)["__setitem__"] is own
    table = torch.zeros(2)
    table[1] = 0.5
    assert table.tolist() == [0.0, -0.5]
