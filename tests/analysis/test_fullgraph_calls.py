"""Which classes and functions a file compiles with ``fullgraph=True``."""

import ast

import pytest

from fx_lsp.analysis.fullgraph_calls import is_compiled_whole


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile(Net(3), fullgraph=True)",
        "net = Net(3)\nfast = torch.compile(net, fullgraph=True)",
        "net = Net(3)\nnet.compile(fullgraph=True)",
        "torch.compile(Net, fullgraph=True)",
        "@torch.compile(fullgraph=True)\ndef Net(x): ...",
        "class Net:\n    @compile(fullgraph=True)\n    def forward(self): ...",
    ],
)
def test_what_is_compiled_whole(text: str) -> None:
    assert is_compiled_whole(ast.parse(text), "Net")


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile(Net(3))",
        "torch.compile(Net(3), fullgraph=False)",
        "torch.compile(Other(3), fullgraph=True)",
        "Net(3).run(fullgraph=True)",
        "class Net:\n    @torch.compile(fullgraph=True)\n    def other(self): ...",
        "@torch.compile\ndef Net(x): ...",
    ],
)
def test_what_is_not(text: str) -> None:
    assert not is_compiled_whole(ast.parse(text), "Net")
