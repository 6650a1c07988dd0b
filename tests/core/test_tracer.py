"""Programs that trace, in every way that the tracer can be told how: torch.fx's graphs to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
import torch
import torch.fx

import fxcore
from tests.core.code_text import code_of
from tests.core.oracle import assert_same_failure, assert_same_graph, attempt, normal, rows
from tests.core.snippets import define
from tests.core.tracers import tracers

PRELUDE = """
    import PACKAGE as fx
    import collections, dataclasses, enum, functools, typing
    Pair = collections.namedtuple("Pair", "left right")
    class Colour(enum.Enum):
        RED = 1
    @dataclasses.dataclass
    class Point:
        x: object
        y: object = 2
    class Text(str): pass
    class Items(list): pass
    class Own:
        def __init__(self, value): self.value = value
        def __fx_create_arg__(self, tracer): return tracer.create_arg(self.value)
    class Block(torch.nn.Module):
        def __init__(self, n=4):
            super().__init__()
            self.linear = torch.nn.Linear(n, n)
            self.weight = torch.nn.Parameter(torch.ones(n))
            self.register_buffer("scale", torch.full((n,), 2.0))
            self.constant = torch.arange(4.0)
        def forward(self, x):
            return self.linear(x * self.scale) + self.weight + self.constant
"""


def program(body: str, package: str, name: str = "f") -> Any:
    """``name`` of a program that has some classes, and the package under the name ``fx``."""
    return define(PRELUDE.replace("PACKAGE", package) + body, name)


@pytest.fixture(autouse=True)
def _wrapped_names() -> Iterator[None]:
    """What a program here wraps stays wrapped no longer than its test."""
    registries: list[dict[Any, Any]] = [fxcore.wrap.__globals__["_wrapped_fns_to_patch"]]
    registries.append(torch.fx.wrap.__globals__["_wrapped_fns_to_patch"])
    before = [dict(registry) for registry in registries]
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)


def compiled(traced: Any) -> Any:
    """A graph module, whose code is Python: fxcore looks when it is first called, torch.fx at once."""
    assert traced.forward
    return traced


def assert_same(body: str, *, concrete_args: Any = None, name: str = "f") -> None:
    """Both trace the program's ``f`` (if a class, an instance) and make the same of it."""

    def trace(package: Any) -> Any:
        root = program(body, package.__name__, name)
        torch.manual_seed(0)
        return compiled(package.symbolic_trace(root() if isinstance(root, type) else root, concrete_args))

    ours, theirs = attempt(lambda: trace(fxcore)), attempt(lambda: trace(torch.fx))
    assert_same_failure(ours, theirs)
    if not isinstance(theirs, Exception):
        assert_same_graph(ours, theirs)


FUNCTIONS = [
    "def f(x): return x + 1, 1 - x, x @ x, -x, ~x, abs(x), x ** 2, pow(x, 2, 3), 2 ** x",
    "def f(x): return x[0], x[1:, None, ...], x < 1, x & 1",
    "def f(x): x += 1; x *= 2; x @= x; x //= 3; return x",
    "def f(x): return x.size(0), x.shape, x.shape[0], x.T.view(-1).relu_(), x.dtype, x.device.type",
    "def f(x): return torch.cat([x, x], dim=0), torch.relu(input=x), torch.add(x, x, alpha=2)",
    "def f(x): return torch.nn.functional.relu(x), torch.nn.functional.interpolate(x, 3)",
    "def f(x): return x(1, k=2), x.keys(), hash(x) * 0, str(x), f'{x}', x is None, isinstance(x, torch.Tensor)",
    "def f(x): a, (b, *_) = x.split(1), (1, 2); return a",
    "def f(x): a, b = x; (c, d), e = a, b; return c, d, e",
    "def f(x): return math.sqrt(x), math.floor(x + 1), math.sqrt(4)",
    "def f(x): return x in {}, {'a': x, 1: [x, (x,)]}, (x, 1) == (x, 1)",
    "def f(x): return g(**x)\ndef g(**k): return k",
    "def f(x): return Pair(x, 1), x.g(Pair(x, 2)), x.g(Point(x)), x.g(Colour.RED)",
    "def f(x): return x.g(Text('a')), x.g(Items([x])), x.g(Own(x))",
    "def f(x): return x.g(slice(x, None, 2)), x.g(range(3)), x.g({'a': x}, None, ...)",
    "def f(x): return x.g(torch.float32, torch.device('cpu'))",
    "def f(x): return x.g(torch.contiguous_format, torch.strided, 1j, True)",
    "def f(x): return x.g(torch.Size([1]), collections.OrderedDict(a=x), collections.deque([x]))",
    "def f(x): return x + torch.ones(2) + torch.zeros(3) + torch.ones(2)",
    "def f(x): c = torch.ones(2); return x + c - c",
    "def f(x): return torch._assert(x.any(), 'no')",
    "def f(x): return torch.sym_max(x.size(0), 2), torch.sym_int(x.size(0))",
    "def f(x): return torch.sym_ite(x.any(), 1, 2), torch.sym_not(x.any())",
    "def f(x): return torch.ops.aten.relu.default(x), torch.ops.aten.add(x, 1), torch.ops.aten.relu",
    "def f(x: torch.Tensor, y: int = 2) -> torch.Tensor: return x + y",
    "def f(*, x, y=2): return x + y",
    "def f(x, /, y, *rest, z=3, **others): return x, y, rest, rest[0], z, others, others['k']",
    "def f(*xs): return xs",
    "def f(**others): return others",
    "def f(x):\n    def inner(y): return x + y\n    return inner(x) + (lambda z: z * x)(2)",
    "def f(x):\n    with torch.no_grad(): y = x + 1\n    return y",
    "def f(x): return [x + i for i in range(3)], sum([x, x])",
    "def f(x): print(x); x.missing; return None",
    "def f(): return 1",
    "@functools.wraps(lambda y: y)\ndef f(x): return x + 1",
    "@functools.lru_cache\ndef f(x): return x",
    "f = 3",
    "f = len",
    "f = functools.partial(lambda x: x)",
    "def f(x, y=[1, {}]): return x",
    "def f(x, y=b''): return x",
    "def f(x):\n    try: return 1 if x else 2\n    except ValueError: return x + 7",
    "def f(x):\n    try: return len(x)\n    except RuntimeError: return x + 7",
    "def f(x): return torch.fx.wrap('g')",
    "len_ = fx.wrap('len')\ndef f(x): return len(x) + len([1])",
    "@fx.wrap\ndef g(x, y=1): return 3 if x else 4\ndef f(x): return g(x), g(y=[x]), g(1), g",
    "def g(x): return x\nfx.wrap('g')\nfx.wrap(g)\ndef f(x): return g({'k': (x,)})",
    "fx.wrap('gone')\ndef f(x): return x",
    "@fx.wrap\ndef f(x): return x + 1",
    "class Made(metaclass=fx.ProxyableClassMeta):\n    def __init__(self, x): self.x = x\n"
    "    def add(self, y): return Made(self.x + y)\nmade = Made(1)\n"
    "def f(x): return Made(x).add(x), Made(3).add(1).x, made",
]


@pytest.mark.parametrize("body", FUNCTIONS, ids=[body.replace("\n", "; ") for body in FUNCTIONS])
def test_function(body: str) -> None:
    assert_same(body.replace("\n", "\n    ").join(["    ", "\n"]))


def module(forward: str, init: str = "pass", extra: str = "") -> str:
    lines = [
        "class f(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        *[f"        {line}" for line in init.split("\n")],
        *[f"    {line}" for line in forward.split("\n")],
        *extra.split("\n"),
    ]
    return "".join(f"    {line}\n" for line in lines)


MODULES = {
    "one block": module("def forward(self, x): return self.b(x)", "self.b = Block()"),
    "a block twice": module("def forward(self, x): return self.b(self.b(x)) + self.b.linear(x)", "self.b = Block()"),
    "shared under two names": module(
        "def forward(self, x): return self.c(self.b(x)) + self.c.weight + self.d.e(x)",
        "self.b = Block(); self.c = self.b; self.d = torch.nn.Module(); self.d.e = self.b",
    ),
    "tied parameters": module(
        "def forward(self, x): return x @ self.v + self.b.weight + self.w",
        "self.b = Block(); self.w = self.b.weight; self.v = self.w",
    ),
    "containers": module(
        "def forward(self, x):\n    for m in self.s: x = m(x)\n"
        "    return self.t(x) + self.l[0](x) + self.d['k'](x) + self.p[1]",
        "self.s = torch.nn.Sequential(torch.nn.ReLU(), Block()); self.t = torch.nn.Sequential(Block())\n"
        "self.l = torch.nn.ModuleList([Block()]); self.d = torch.nn.ModuleDict({'k': torch.nn.GELU()})\n"
        "self.p = torch.nn.ParameterList([torch.ones(1), torch.ones(2)])",
    ),
    "a module as an argument": module("def forward(self, x): return x.g(self.b, self.b.scale)", "self.b = Block()"),
    "parameters read in bulk": module(
        "def forward(self, x): return sum(p.sum() for p in self.parameters()) + x + next(self.b.parameters())",
        "self.b = Block()",
    ),
    "training and hooks": module(
        "def forward(self, x): return self.b(x) if self.training else x",
        "self.b = Block(); self.b.register_forward_hook(lambda m, i, o: o * 3)\n"
        "self.b.linear.register_forward_pre_hook(lambda m, i: (i[0] + 9,))",
    ),
    "constants with names taken": module(
        "def forward(self, x): return x + torch.ones(1) + self._tensor_constant0 + torch.ones(2) + self.t",
        "self._tensor_constant0 = torch.zeros(1); self.t = [torch.ones(5)][0]; self._tensor_constant2 = 1",
    ),
    "a buffer that is registered in forward": module(
        "def forward(self, x):\n    self.register_buffer('late', torch.ones(3))\n    return x + self.late",
    ),
    "keyword only": module("def forward(self, x, *, y: int = 3, z): return x + y + z"),
    "variadic": module("def forward(self, x, *a, **k): return x + a[0] + k['z']"),
    "only variadic": module("def forward(self, *a, **k): return a, k"),
    "self is variadic": module("def forward(*a): return a"),
    "getattr of one's own": module(
        "def forward(self, x): return self.magic + self.b(x)",
        "self.b = Block()",
        "    def __getattr__(self, name):\n        return 42 if name == 'magic' else super().__getattr__(name)",
    ),
    "a function made a method": module("def forward(self, x): return self.g(x)", "self.g = lambda x: x + 1"),
    "module in a plain list": module("def forward(self, x): return self.l[0](x)", "self.l = [Block()]"),
    "no forward": module("def forwards(self, x): return x"),
    "forward of the instance": module("def forward(self, x): return x", "self.forward = lambda x: x + 1"),
    "in-place on a buffer": module("def forward(self, x): self.b.scale.add_(1); return x", "self.b = Block()"),
    "parametrized": module(
        "def forward(self, x): return self.b(x)",
        "from torch.nn.utils import parametrizations\nself.b = parametrizations.weight_norm(torch.nn.Linear(2, 2))",
    ),
    "a script module": module("def forward(self, x): return self.b(x)", "self.b = torch.jit.script(torch.nn.ReLU())"),
    "an attention": module(
        "def forward(self, x): return self.b(x, x, x)[0]", "self.b = torch.nn.MultiheadAttention(4, 2)"
    ),
    "nested tensors": module("def forward(self, x): return torch.nested.nested_tensor_from_jagged(x, x)"),
    "a traced module": module(
        "def forward(self, x): return self.b(x) + self.c(x)",
        "self.b = torch.fx.symbolic_trace(Block()); self.c = fx.symbolic_trace(Block())",
    ),
    "a compiled one": module("def forward(self, x): return g(x)", extra="g = torch.compile(lambda x: x + 1)"),
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str) -> None:
    assert_same(MODULES[name])


CONCRETE: list[tuple[str, str]] = [
    ("def f(x, flag): return x if flag else x + 1", "{'flag': True}"),
    ("def f(x, flag=None): return x if flag is None else x + 1", "{'flag': None}"),
    ("def f(x, n): return x + n", "{'n': 3}"),
    ("def f(x, n): return x + n", "{'n': torch.ones(2)}"),
    ("def f(x, n): return x + n", "{'n': 'text'}"),
    ("def f(xs): return sum(xs)", "{'xs': [fx.PH, fx.PH]}"),
    ("def f(xs, y): return {'out': [xs['a'] + xs['b'][0], y]}", "{'xs': {'a': fx.PH, 'b': (fx.PH, 3)}}"),
    ("def f(xs): return xs[0]", "{'xs': [PHWithMeta('first'), fx.PH]}"),
    ("def f(x, y): return x + y", "(fx.PH, 2)"),
    ("def f(x, y): return x + y", "(1,)"),
    ("def f(x, y): return x + y", "{'z': 1}"),
    ("def f(x, *a): return a[0]", "(fx.PH, fx.PH)"),
    ("def f(x, **k): return x", "{'**k': {}}"),
    ("def f(x, *, k): return x + k[0]", "{'k': [fx.PH]}"),
    ("def f(x, y=4): return x + y", "{'y': fx.PH}"),
    ("def f(x, y=4): return x + y", "{'y': [fx.PH]}"),
]


@pytest.mark.parametrize(("body", "concrete"), CONCRETE)
@pytest.mark.filterwarnings("ignore")
def test_concrete_args(body: str, concrete: str) -> None:
    results = []
    for package in (fxcore, torch.fx):
        names = f"from {package.__name__}._symbolic_trace import PHWithMeta\nconcrete = {concrete}\n"
        source = PRELUDE.replace("PACKAGE", package.__name__) + "".join(f"    {line}\n" for line in names.split("\n"))
        f, concrete_args = cast("tuple[Any, Any]", define(source + f"    {body}\n    both = f, concrete", "both"))
        results.append(attempt(lambda: compiled(package.symbolic_trace(f, concrete_args))))  # noqa: B023
    ours, theirs = results
    assert_same_failure(ours, theirs)
    if not isinstance(theirs, Exception):
        keys = [[getattr(node, "ph_key", None) for node in result.graph.nodes] for result in results]
        assert keys[0] == keys[1]
        if isinstance(attempt(lambda: theirs.code), str):
            assert normal(code_of(ours)) == code_of(theirs)
        assert str(ours.graph._codegen.__dict__.get("pytree_info")) == str(
            theirs.graph._codegen.__dict__.get("pytree_info")
        )


def test_placeholders_of_torch_fx_are_placeholders() -> None:
    def total(xs: list[torch.Tensor]) -> torch.Tensor:
        return xs[0] + xs[1]

    placeholder = torch.fx._symbolic_trace.PH
    traced = fxcore.symbolic_trace(total, concrete_args={"xs": [placeholder, placeholder]})
    assert traced([torch.ones(1), torch.ones(1)]).item() == 2


# Tracers of one's own.

TRACED = module(
    "def forward(self, x, y={1}):\n"
    "    assert x.any(), 'no'\n"
    "    return self.b(x) + self.b.weight.shape[0] + self.b.weight.size()[0] + self.b.scale.mul(x)",
    "self.b = Block()",
    "    def other(self, x):\n        return self.b(x) + 5",
)
BRANCHING = """
    def f(x):
        a, b = x
        return [a + i for i in x], g(**b), 1 in x, 3 if x else 4
    def g(k): return k
"""
MUTATING = "    def f(x): return torch.relu_(x)\n"
SORTING = "    def f(x): return operator.add(x, 1), order(x), math.sqrt(x)\n    import operator\n    order = sorted\n"
PLAIN = module("def forward(self, x): return self.b(x) + len(x[0])", "self.b = Block()")


@pytest.mark.parametrize("body", [TRACED, BRANCHING, MUTATING, SORTING, PLAIN], ids=lambda body: body.split("(")[0])
@pytest.mark.parametrize("tracer", tracers(fxcore))
def test_an_own_tracer_records_what_it_records_in_torch_fx(tracer: str, body: str) -> None:
    def trace(package: Any) -> Any:
        root = program(body, package.__name__)
        made = tracers(package)[tracer]()
        graph = made.trace(root() if isinstance(root, type) else root)
        scopes = {
            name: (path, getattr(kind, "__name__", kind)) for name, (path, kind) in made.node_name_to_scope.items()
        }
        return rows(graph), scopes, [node.meta.get("mine") for node in graph.nodes]

    ours, theirs = attempt(lambda: trace(fxcore)), attempt(lambda: trace(torch.fx))
    assert_same_failure(ours, theirs)
    if not isinstance(theirs, Exception):
        assert ours == theirs
