"""Which calls of a file capture something, and what they capture."""

import ast

import pytest

from fx_lsp.documents.name_resolution import Names
from fx_lsp.targets.capture_calls import capture_calls

IMPORTS = """\
import re, torch, torch_tensorrt, torch.fx
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from executorch.exir import to_edge_transform_and_lower
from models import make_net

class Net(torch.nn.Module):
    def __init__(self, block=None): ...
class Block(torch.nn.Module): ...
x = torch.ones(3)
"""


def captured(text: str, *, onnx_exports: bool = True) -> set[tuple[str, str, bool]]:
    """The capture of each call, each of the classes and functions that it captures, and whether as one graph."""
    tree = ast.parse(IMPORTS + text)
    known = {"Net", "Block", "models.make_net"}
    return {
        (call.capture, name, call.is_whole)
        for call in capture_calls(Names(tree), tree, lambda: onnx_exports)
        for name in call.made_of & known
    }


@pytest.mark.parametrize(
    "text",
    [
        "export(Net(), (x,))",
        "torch.export.export(Net().eval(), (x,))",
        "torch.export.export(mod=Net(), args=(x,))",
        "torch.export.export_for_training(Net(), (x,))",
        "net = Net()\nnet.eval()\nexport(net, (x,))",
        "def main():\n    net = Net()\n    export(net, (x,))",
        "def save(net):\n    export(net, (x,))\nsave(Net())",
        "def save(net=Net()):\n    export(net, (x,))",
        "def save(net):\n    write(net)\ndef write(net):\n    export(net, (x,))\nsave(net=Net())",
        "for net in [Net()]:\n    export(net, (x,))",
        "with torch.no_grad():\n    program = export(Net(), (x,))",
        "torch.onnx.export(Net(), (x,), 'net.onnx')",
        "torch.onnx.export(Net(), (x,), 'net.onnx', dynamo=True)",
        "prepare_pt2e(export(Net(), (x,)).module(), quantizer)",
        "program = export(Net(), (x,))\nto_edge_transform_and_lower(program)",
        "torch_tensorrt.compile(Net(), ir='dynamo', inputs=[x])",
        "torch._inductor.aoti_compile_and_package(export(Net(), (x,)))",
        "class A:\n  def __init__(self):\n    self.net = Net()\n  def save(self):\n    export(self.net, (x,))",
    ],
)
def test_what_is_exported(text: str) -> None:
    assert captured(text) == {("export", "Net", False)}


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("torch.compile(Net())", False),
        ("torch.compile(Net(), fullgraph=True)", True),
        ("torch.compile(Net(), fullgraph=False)", False),
        ("torch.compile(Net, fullgraph=True)", True),
        ("net = Net()\nfast = torch.compile(net, fullgraph=True)", True),
        ("net = Net()\nnet.compile(fullgraph=True)", True),
        ("torch_tensorrt.compile(Net(), ir='torch_compile')", False),
        ("@torch.compile(fullgraph=True)\nclass Net:\n    pass", True),
        ("class Net:\n    @torch.compile\n    def forward(self): ...", False),
        ("class Net:\n    @torch.compile(fullgraph=True)\n    def forward(self): ...", True),
        ("class Net:\n    def setup(self):\n        self.forward = torch.compile(self.forward)", False),
    ],
)
def test_what_is_compiled(text: str, is_whole: bool) -> None:
    assert captured(text) == {("compile", "Net", is_whole)}


@pytest.mark.parametrize(
    "text",
    [
        "torch.fx.symbolic_trace(Net())",
        "torch.fx.Tracer().trace(Net())",
        "class Own(torch.fx.Tracer): ...\nOwn().trace(Net())",
        "torch.ao.quantization.quantize_fx.prepare_fx(Net(), {}, (x,))",
        "def save(net):\n    torch.fx.symbolic_trace(net)\nsave(Net())",
        "torch_tensorrt.compile(Net(), ir='fx')",
    ],
)
def test_what_is_traced(text: str) -> None:
    assert captured(text) == {("fx", "Net", False)}


@pytest.mark.parametrize(
    "text",
    [
        "torch.onnx.export(Net(), (x,), 'net.onnx', dynamo=False)",
        "torch.jit.script(Net())",
        "torch_tensorrt.compile(Net(), ir='ts')",
        "torch.compile(Net(), disable=True)",
        "re.compile(Net.pattern)",
        "Net().export(x)",
        "Net().run(fullgraph=True)",
        "class Net:\n    @torch.compile(fullgraph=True)\n    def other(self): ...",
        "import pytest\nwith pytest.raises(RuntimeError):\n    export(Net(), (x,))",
    ],
)
def test_what_is_not_captured(text: str) -> None:
    assert captured(text) == set()


def test_an_export_to_onnx_before_torch_2_9_is_none() -> None:
    text = "torch.onnx.export(Net(), (x,), 'net.onnx')"
    assert captured(text, onnx_exports=False) == set()
    assert captured(text.replace("'net.onnx'", "'net.onnx', dynamo=True"), onnx_exports=False) != set()


def test_what_is_built_into_it_or_builds_it_is_captured_too() -> None:
    assert captured("export(Net(Block()), (x,))") == {("export", "Net", False), ("export", "Block", False)}
    assert captured("net = make_net()\nexport(net, (x,))") == {("export", "models.make_net", False)}
