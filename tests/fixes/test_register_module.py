"""Modules that become registered."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fx_lsp.fixes import register_module
from tests.fixes.fixing import check, refuse

INPUTS = [(torch.linspace(-1, 1, 8 * n).view(n, 8),) for n in (1, 2, 3)]

HEAD = "import torch\nfrom torch import nn\n\nCHOICES = {'relu': nn.ReLU}\n\n\nclass Net(nn.Module):\n"
INIT = "    def __init__(self):\n        super().__init__()\n        self.name = 'relu'  # é\n"


def net(init: str, forward: str) -> str:
    lines = "".join(f"        {line}\n" for line in init.split("\n") if line)
    body = "".join(f"        {line}\n" for line in forward.split("\n"))
    return f"{HEAD}{INIT}{lines}\n    def forward(self, x):\n{body}"


BUILT = {
    "at once": (("", "return nn.ReLU()(x)"), ("self.relu = nn.ReLU()", "return self.relu(x)")),
    "with settings": (
        ("self.slope = 0.1", "return nn.LeakyReLU(self.slope)(x) + 1"),
        ("self.slope = 0.1\nself.leaky_relu = nn.LeakyReLU(self.slope)", "return self.leaky_relu(x) + 1"),
    ),
    "by a name that is taken": (
        ("self.relu = 3", "return nn.ReLU()(x) + self.relu"),
        ("self.relu = 3\nself.relu_2 = nn.ReLU()", "return self.relu_2(x) + self.relu"),
    ),
    "by choice": (
        ("", "return CHOICES[self.name]()(x)"),
        ("self.module = CHOICES[self.name]()", "return self.module(x)"),
    ),
    "first": (
        ("", "act = nn.GELU()  # why\ny = x * 2\nreturn act(y)"),
        ("self.act = nn.GELU()", "act = self.act  # why\ny = x * 2\nreturn act(y)"),
    ),
}


@pytest.mark.parametrize("case", BUILT.values(), ids=BUILT)
def test_a_module_built_in_forward_is_built_in_init(
    case: tuple[tuple[str, str], tuple[str, str]], tmp_path: Path
) -> None:
    bad, good = (net(*parts) for parts in case)
    assert check(tmp_path, register_module.fixes, bad, good, inputs=INPUTS).title.startswith("Build self.")


def test_a_class_without_init_gets_one(tmp_path: Path) -> None:
    forward = "    def forward(self, x):\n        return {}(x)\n"
    bad = HEAD + forward.format("nn.Softmax(dim=-1)")
    init = "    def __init__(self):\n        super().__init__()\n        self.softmax = nn.Softmax(dim=-1)\n\n"
    check(tmp_path, register_module.fixes, bad, HEAD + init + forward.format("self.softmax"), inputs=INPUTS)


def test_init_may_be_the_last_method(tmp_path: Path) -> None:
    forward = "    def forward(self, x):\n        return {}(x)\n\n"
    bad = HEAD + forward.format("nn.ReLU()") + INIT.rstrip("\n")
    good = HEAD + forward.format("self.relu") + INIT.removesuffix("  # é\n") + "\n        self.relu = nn.ReLU()  # é"
    check(tmp_path, register_module.fixes, bad, good, inputs=INPUTS)


LAYERS = "[nn.Linear(8, 8), nn.ReLU()]"
HELD = {
    "a loop": (f"self.layers = {LAYERS}", "for layer in self.layers:\n    x = layer(x)\nreturn x", "nn.ModuleList"),
    "a comprehension": (
        "self.layers = [nn.Linear(8, 2) for _ in range(2)]",
        "return torch.cat([layer(x) for layer in self.layers])",
        "nn.ModuleList",
    ),
    "an index": (f"self.layers = {LAYERS}", "return self.layers[0](x)", "nn.ModuleList"),
    "a number": (
        f"self.layers = {LAYERS}",
        "for i, layer in enumerate(self.layers):\n    x = layer(x) + i\nreturn x",
        "nn.ModuleList",
    ),
    "names": ("self.layers = {'a': nn.Linear(8, 2)}", "return self.layers['a'](x)", "nn.ModuleDict"),
    "pairs": (
        "self.layers = {str(i): nn.Linear(8, 8) for i in range(2)}",
        "for _, layer in self.layers.items():\n    x = layer(x)\nreturn x",
        "nn.ModuleDict",
    ),
}


@pytest.mark.parametrize("case", HELD.values(), ids=HELD)
def test_a_plain_container_registers_its_modules(case: tuple[str, str, str], tmp_path: Path) -> None:
    init, forward, container = case
    *before, last = init.split("\n")
    name, _, value = last.partition(" = ")
    bad, good = net(init, forward), net("\n".join([*before, f"{name} = {container}({value})"]), forward)
    fix = check(tmp_path, register_module.fixes, bad, good, inputs=INPUTS)
    assert fix.title == f"Register self.layers as {container}"


def test_a_list_that_grows_registers_its_modules(tmp_path: Path) -> None:
    bad = net("self.layers = []\nself.layers.append(nn.Linear(8, 8))", "for f in self.layers:\n    x = f(x)\nreturn x")
    check(tmp_path, register_module.fixes, bad, bad.replace("= []", "= nn.ModuleList([])"), inputs=INPUTS)


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("", "slope = 0.1\nreturn nn.LeakyReLU(slope)(x)"),
        ("", "act = nn.ReLU()\nif self.name:\n    act = nn.GELU()\nreturn act(x)"),
        ("", "layers = [nn.ReLU()]\nreturn layers[0](x)"),
        ("", "def inner(y):\n    return nn.ReLU()(y)\nreturn inner(x)"),
        (f"self.layers = list({LAYERS})", "return self.layers[0](x)"),
        ("", "return x if x.sum() > 0 else x"),
    ],
)
def test_other_calls_register_nothing(init: str, forward: str, tmp_path: Path) -> None:
    refuse(tmp_path, register_module.fixes, net(init, forward))


def test_a_class_with_another_base_gets_no_init(tmp_path: Path) -> None:
    base = "class Base(nn.Module):\n    pass\n\n\nclass Net(Base):\n    def forward(self, x):\n"
    refuse(
        tmp_path, register_module.fixes, HEAD.replace("class Net(nn.Module):\n", base) + "        return nn.ReLU()(x)\n"
    )
