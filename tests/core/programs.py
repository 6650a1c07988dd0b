"""Random programs: modules that Hypothesis writes as source text, for tests that compare two tracers on them.

Every value in a program is a tensor of shape (2, 4), so that any operation can follow any other. Some programs
contain a statement that symbolic tracing can't go through; then both tracers must say so, in the same way.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import strategies as st
from torch import nn

HEADER = """\
import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn
"""

UNARY = (
    "torch.relu({0})",
    "F.gelu({0}, approximate='tanh')",
    "{0}.neg()",
    "-{0}",
    "abs({0})",
    "torch.clamp({0}, min=-1.0, max=1.0)",
    "{0}.clone().clamp_(max=0.5)",
    "{0}.clone().add_(1).mul_(0.5)",
    "F.dropout({0}, p=0.0, training=False)",
    "{0}.transpose(0, 1).reshape(4, 2).t()",
    "{0}[:, :]",
    "{0}[..., None].squeeze(-1)",
    "{0}[:, [3, 2, 1, 0]]",
    "{0} ** 2",
    "{0} / math.sqrt({0}.shape[-1])",
    "{0}.view({0}.size(0), -1)",
    "torch.reshape({0}, {0}.shape)",
    "{0}.to(torch.float32).float()",
    "2 * {0} - 1",
    "{0} @ torch.eye(4)",
    "({0} > 0) * {0}",
    "torch.nn.functional.layer_norm({0}, (4,))",
)
BINARY = (
    "{0} + {1}",
    "{0} * {1}",
    "torch.cat([{0}[:, :2], {1}[:, 2:]], dim=1)",
    "torch.cat(tensors=({0}, {1}), dim=0)[:2]",
    "torch.stack(({0}, {1}))[1]",
    "torch.where({0} > 0, {0}, {1})",
    "torch.maximum({0}, other={1})",
    "{{'left': {0}, 'right': {1}}}['left']",
    "[{0}, {1}][-1]",
    "({0}, {1})[0]",
    "torch.add({0}, {1}, alpha=2)",
    "torch.einsum('bi,bi->bi', {0}, {1})",
)
UNTRACEABLE = (
    "if {0}.sum() > 0: {0} = -{0}",
    "n = len({0})",
    "for row in {0}: pass",
    "n = int({0}.sum())",
    "{0}[0] = 1",
    "while {0}.mean() > 1e9: pass",
    "n = float({0}.max())",
    "assert {0}.shape[0] == 2",
    "n = list(range({0}.shape[0]))",
    "n = ({0}.sum() > 0) and True",
    "n = [1, 2][{0}.argmax()]",
    "n = torch.zeros({0}.size(0), 4)",
    "{0} = nn.Identity()({0})",
)
CHILDREN = {
    "nn.Linear(4, 4)": "self.{0}({1})",
    "nn.Sequential(nn.Linear(4, 4), nn.ReLU())": "self.{0}({1})",
    "nn.Sequential(nn.Identity(), nn.Sequential(nn.Tanh()))": "self.{0}[1]({1})",
    "nn.ModuleList([nn.Linear(4, 4), nn.Identity()])": "self.{0}[0](self.{0}[1]({1}))",
    "nn.ModuleDict({'a': nn.Sigmoid()})": "self.{0}['a']({1})",
    "nn.Parameter(torch.ones(4) / 2)": "{1} * self.{0}",
    "nn.Parameter(torch.eye(4))": "F.linear({1}, self.{0}, bias=None)",
    "torch.full((4,), 0.5)": "{1} + self.{0}",
}


@dataclass
class Writer:
    """Writes one class, statement by statement."""

    draw: Callable[..., Any]
    name: str
    inner: str | None
    """Another generated class, that this one may use as a child."""
    fields: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=lambda: ["x", "y"])

    def value(self) -> str:
        return str(self.draw(st.sampled_from(self.values)))

    def assign(self, expression: str) -> None:
        """Bind ``expression`` to a new name, or to one that is there already."""
        new = f"v{len(self.lines)}"
        target = self.draw(st.sampled_from([new, new, *self.values]))
        self.lines.append(f"{target} = {expression}")
        if target not in self.values:
            self.values.append(target)

    def unary(self) -> None:
        self.assign(self.draw(st.sampled_from(UNARY)).format(self.value()))

    def binary(self) -> None:
        self.assign(self.draw(st.sampled_from(BINARY)).format(self.value(), self.value()))

    def child(self) -> None:
        """Call a child, a new one or (shared) one that was called before."""
        use = self.draw(st.sampled_from(sorted(CHILDREN)))
        known = [line for line in self.fields if line.endswith(f" = {use}")]
        if known and self.draw(st.booleans()):
            name = known[0].split(" ")[0].removeprefix("self.")
        else:
            name = f"child{len(self.fields)}"
            self.fields.append(f"self.{name} = {use}")
        self.assign(CHILDREN[use].format(name, self.value()))

    def nested(self) -> None:
        """Call an instance of the inner class; inside that class itself, any operation."""
        if self.inner is None:
            return self.unary()
        name = f"inner{len(self.fields)}"
        self.fields.append(f"self.{name} = {self.inner}()")
        how = self.draw(st.sampled_from(["{1}, {2}", "{1}, y={2}", "x={1}, y={2}", "{1}"]))
        return self.assign(f"self.{name}(" + how.format(name, self.value(), self.value()) + ")")

    def unpack(self) -> None:
        first, second = f"a{len(self.lines)}", f"b{len(self.lines)}"
        self.lines.append(f"{first}, {second} = torch.chunk({self.value()}, 2, dim=1)")
        self.assign(f"torch.cat([{first}, {second}], 1)")

    def constant_branch(self) -> None:
        """Control flow on a hyper-parameter, which tracing decides."""
        flag = f"flag{len(self.fields)}"
        self.fields.append(f"self.{flag} = {self.draw(st.booleans())}")
        value = self.value()
        self.lines.append(f"if self.{flag}: {value} = torch.tanh({value})")

    def constant_loop(self) -> None:
        value = self.value()
        self.lines.append(f"for i in range({self.draw(st.integers(0, 3))}): {value} = {value} + i")

    def untraceable(self) -> None:
        self.lines.append(self.draw(st.sampled_from(UNTRACEABLE)).format(self.value()))

    def result(self) -> str:
        shapes = ["{0}", "{0}", "({0}, {1})", "[{0}, ({1}, {0})]", "{{'out': {0}, 'aux': [{1}]}}", "({0}, None, 3)"]
        return str(self.draw(st.sampled_from(shapes))).format(self.value(), self.value())

    def write(self, returns: str | None = None) -> str:
        """The class's source: what was drawn so far, returning ``returns`` or whatever is drawn."""
        signature = self.draw(
            st.sampled_from(["x, y=None", "x: torch.Tensor, y: Optional[torch.Tensor] = None", "x, *, y=None"])
            if self.inner is None
            else st.sampled_from(
                ["x, y", "x: torch.Tensor, y: torch.Tensor", "x, y, scale=2.0", "x, y, *rest", "x, y, **more"]
            )
        )
        default = ["y = x if y is None else y"] if self.inner is None else []
        body = [*default, *self.lines, f"return {returns or self.result()}"]
        return "\n".join(
            [
                f"class {self.name}(nn.Module):",
                "    def __init__(self):",
                "        super().__init__()",
                *(f"        {line}" for line in self.fields),
                f"    def forward(self, {signature}):",
                *(f"        {line}" for line in body),
                "",
            ]
        )


def statements(writer: Writer, count: int) -> None:
    """Draw ``count`` statements into ``writer``."""
    kinds = [writer.unary] * 3 + [writer.binary] * 2 + [writer.child] * 2
    kinds += [writer.nested, writer.unpack, writer.constant_branch, writer.constant_loop]
    for _ in range(count):
        writer.draw(st.sampled_from(kinds))()


@st.composite
def sources(draw: Any, failing: bool | None = None) -> str:
    """The source of a program whose class ``Program`` is to be traced.

    Args:
        draw: Hypothesis's.
        failing: Whether it holds a statement that can't be traced; None: one in five does.
    """
    inner = Writer(draw, "Inner", None)
    statements(inner, draw(st.integers(0, 4)))
    outer = Writer(draw, "Program", "Inner")
    statements(outer, draw(st.integers(1, 6)))
    if failing or (failing is None and draw(st.integers(0, 4)) == 0):
        outer.untraceable()
        statements(outer, draw(st.integers(0, 2)))
    return "\n\n".join([HEADER, inner.write(inner.value()), outer.write()])


def build(source: str) -> nn.Module:
    """The program's module, its source known to ``linecache`` so that places in it can be told."""
    filename = "<program>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, filename, "exec"), namespace)
    torch.manual_seed(0)
    module: nn.Module = namespace["Program"]().eval()
    return module


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of shape (2, 4) that every program takes."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 4, generator=generator), torch.randn(2, 4, generator=generator)
