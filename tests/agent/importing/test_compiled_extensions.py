"""What is said of classes that call functions of a C++ extension which the workspace builds, and which is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.importing.compiled_extensions import is_extension
from fx_lsp.agent.messages import Report
from tests.agent.client import Client, target_of

SETUPS = {
    "by its name": 'setup(ext_modules=[CUDAExtension("scale_cuda", ["scale.cu"])])',
    "in a package": 'setup(ext_modules=[CppExtension(name="layers.ops.scale_cuda", sources=["scale.cpp"])])',
    "by a function of its own": 'setup(ext_modules=[make_cuda_ext(name="scale_cuda", module="layers.ops")])',
    "by a variable": 'name = "layers.scale_cuda"\nsetup(ext_modules=[extension(name, sources)])',
}

NET = """
from torch import nn
from torch.autograd import Function

class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        return scale_cuda.forward(x, factor)

class Net(nn.Module):
    def forward(self, x):
        y = Scale.apply(x, 2)
        return y if x.sum() > 0 else -y
"""


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
def test_an_extension_is_one_that_a_setup_script_around_the_file_builds(tmp_path: Path, setup: str) -> None:
    file = tmp_path / "layers" / "ops" / "scale.py"
    (tmp_path / "setup.py").write_text(f"from torch.utils.cpp_extension import *\n{setup}\n", encoding="utf-8")
    assert is_extension("layers.ops.scale_cuda.forward", str(file))
    assert not is_extension("layers.ops.other.forward", str(file))
    assert not is_extension("layers.ops.other.scale_cuda", str(file))
    assert not is_extension("scale_cuda.python.forward", str(file))


def test_other_names_in_a_setup_script_are_no_extensions(tmp_path: Path) -> None:
    text = 'from torch.utils import cpp_extension\nsetup(name="layers", py_modules=["scale"], ext_modules=[])\n'
    (tmp_path / "setup.py").write_text(text, encoding="utf-8")
    assert not is_extension("layers.scale.forward", str(tmp_path / "net.py"))


def test_an_extension_is_one_that_the_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = 'from torch.utils.cpp_extension import load\nscale = load("scale", ["scale.cpp"])\nsaved = torch.load("x")\n'
    file.write_text(text, encoding="utf-8")
    assert is_extension("scale.forward", str(file))
    assert not is_extension("saved.forward", str(file))


async def _reported(client: Client, *, built: bool) -> Report:
    build = SETUPS["by its name"] if built else "setup(ext_modules=[])"
    client.write("setup.py", f"from torch.utils.cpp_extension import *\n{build}\n")
    file = client.write("net.py", f"import scale_cuda\n{NET}")
    return (await client.trace(file, target_of(file, "Net()"))).only


@pytest.mark.asyncio(loop_scope="session")
async def test_a_compiled_function_refuses_traced_values_and_the_rest_is_explored(client: Client) -> None:
    report = await _reported(client, built=True)
    assert [failure.kind for failure in report.failures] == ["foreign-call", "control-flow"]
    assert report.failures[0].operation == "scale_cuda.forward"
    assert "incompatible function arguments" in report.failures[0].error


@pytest.mark.asyncio(loop_scope="session")
async def test_nothing_is_known_about_a_missing_function_that_may_be_python(client: Client) -> None:
    report = await _reported(client, built=False)
    assert [failure.kind for failure in report.failures] == ["control-flow"]
