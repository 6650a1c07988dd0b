"""The preparations before the first request; among them, the message about a torch that lacks a name."""

import inspect
import subprocess
import sys
from types import FrameType

import pytest

from fx_lsp.agent.serving.warmup import speed_up_inspect_stack

PROGRAM = """
import sys
from pathlib import Path
import torch, torch.fx._symbolic_trace, torch._guards, torch._subclasses.fake_tensor
from fx_lsp.agent.serving.warmup import load_torch

torch.__version__ = "2.99.0"
for name in ("_is_fx_tracing_flag", "_is_fx_tracing_tls"):
    if {loses_flag} and hasattr(torch.fx._symbolic_trace, name):
        delattr(torch.fx._symbolic_trace, name)
if not {loses_flag}:
    del torch._guards.detect_fake_mode
print(load_torch(sys.argv[1])[1])
"""


@pytest.mark.parametrize(
    ("loses_flag", "name"),
    [(True, "torch.fx._symbolic_trace._is_fx_tracing_tls"), (False, "torch._guards.detect_fake_mode")],
    ids=["looked up", "imported"],
)
def test_the_missing_name_and_the_version_are_told(loses_flag: bool, name: str) -> None:
    program = PROGRAM.format(loses_flag=loses_flag)
    said = subprocess.run([sys.executable, "-c", program, "fxcore"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(
        f"torch 2.99.0 can't be used for tracing: it lacks {name}, which fx-lsp needs. Update fx-lsp, or install"
    )


def test_a_frame_of_an_import_is_looked_up_without_looking_through_all_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, FrameType] = {}
    exec(compile("import inspect; frame = inspect.currentframe()", "<frozen importlib._bootstrap>", "exec"), namespace)
    frame = namespace["frame"]
    known = inspect.getframeinfo(frame)
    speed_up_inspect_stack()
    assert inspect.getframeinfo(frame) == known

    def looks_further(*given: object) -> str:
        raise AssertionError

    monkeypatch.setattr(inspect, "getabsfile", looks_further)
    assert inspect.getmodule(frame, frame.f_code.co_filename) is None
