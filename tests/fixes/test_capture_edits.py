"""The texts of the fixes for outputs, operators, NumPy and numbers that stop torch.export."""

import ast
from types import ModuleType
from typing import Any

import pytest
import torch

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import (
    all_modules,
    allow_rnn,
    fake_kernel,
    math_functions,
    register_output,
    tensor_index,
    tensor_item,
    tuple_output,
    whole_loop,
    without_leaf,
    without_numpy,
)
from fx_lsp.fixes.editing.text_edits import applied

CLASS = "import torch\nclass Out:\n    def __init__(self, a, b):\n        {}\n\ndef f(x):\n    return Out(x, x)\n"
DATACLASS = (
    "import torch\nfrom dataclasses import dataclass\n@dataclass\nclass Out:\n    a: int\n\n"
    "def f(x):\n    return Out(x)\n"
)
OPERATOR = (
    "import torch\n@torch.library.custom_op('a::g', mutates_args=())\n"
    "def g(n: int, x: torch.Tensor) -> {}:\n    return x\n\ndef f(x):\n    return g(2, x)\n"
)


def fixed(fixes: ModuleType, text: str, part: str, error: str = "") -> list[str]:
    """What becomes of ``text``, by each fix for ``part``, its last occurrence."""
    start = text.rindex(part)
    line, col = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start) - 1
    span = Span("f.py", line, col, line, col + len(part))
    found = fixes.fixes(Failure("export-error", error, (Step("f", span),)), lambda path: text)
    return [applied(fix.changes, lambda path: LineIndex(text))["f.py"] for fix in found]


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (DATACLASS, "torch.export.register_dataclass(Out)"),
        (
            "import torch\nfrom outs import Out\n\ndef f(x):\n    return Out(x)\n",
            "torch.export.register_dataclass(Out)",
        ),
        (
            CLASS.format("self.one, self.b = a, b"),
            "torch.utils._pytree.register_pytree_node(Out, lambda value: ([value.one, value.b], None), "
            "lambda values, _: Out(*values))",
        ),
    ],
)
def test_a_class_is_registered(text: str, added: str) -> None:
    (new,) = fixed(register_output, text, "return", "RuntimeError: Found <class 'net.Out'> in output")
    (call,) = [ast.unparse(node) for node in ast.parse(new).body if isinstance(node, ast.Expr)]
    assert call == added
    kept = [node for node in ast.parse(new).body if not isinstance(node, ast.Expr)]
    assert ast.unparse(kept) == ast.unparse(ast.parse(text).body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", ["self.a = a", "self.a, self.b = a, b * 2", "self.a = a; self.b = b; a.add_(1)", "super().__init__(a, b)"]
)
def test_a_class_that_computes_what_it_keeps_is_registered_by_its_attributes(body: str) -> None:
    (new,) = fixed(register_output, CLASS.format(body), "return", "RuntimeError: Found <class 'net.Out'> in output")
    program: dict[str, Any] = {}
    exec(new, program)
    out = program["Out"].__new__(program["Out"])
    out.mean, out.size = torch.ones(2), 3
    leaves, spec = torch.utils._pytree.tree_flatten(out)
    assert [type(leaf) for leaf in leaves] == [torch.Tensor, int]
    again = torch.utils._pytree.tree_unflatten(leaves, spec)
    assert (type(again), vars(again)) == (program["Out"], vars(out))


@pytest.mark.parametrize(
    "head",
    ["class Out(dict):", "class Out(Unknown):", "class Out(metaclass=Kind):", "class Out:\n    __slots__ = ('a',)"],
)
def test_a_class_that_may_know_more_than_its_attributes_is_not_registered(head: str) -> None:
    text = CLASS.format("self.a = a").replace("class Out:", head)
    assert fixed(register_output, text, "return", "RuntimeError: Found <class 'net.Out'> in output") == []


def test_an_iterator_becomes_a_tuple() -> None:
    text = "def f(x):\n    return iter([x])\n"
    error = "RuntimeError: Found <class 'list_iterator'> in output"
    assert fixed(tuple_output, text, "return iter([x])", error) == ["def f(x):\n    return tuple(iter([x]))\n"]
    assert fixed(tuple_output, text, "return iter([x])", "RuntimeError: Found <class 'net.Out'> in output") == []


def test_an_operator_gets_a_fake_implementation() -> None:
    text = OPERATOR.format("torch.Tensor").replace("return x", "return x  # é")
    new = fixed(fake_kernel, text, "g(2, x)")
    added = "    return x  # é\n\n\n@g.register_fake\ndef g_fake(n: int, x: torch.Tensor):\n    return {}"
    assert [added.format(one) in text for one, text in zip(["torch.empty_like(x)", "x"], new, strict=True)] == [
        True
    ] * 2
    assert len(fixed(fake_kernel, OPERATOR.format("list[torch.Tensor]"), "g(2, x)")) == 1
    registered = OPERATOR.format("torch.Tensor").replace("def f", "g.register_fake(g)\n\ndef f")
    assert fixed(fake_kernel, registered, "g(2, x)") == []
    assert fixed(fake_kernel, "from ops import g\ndef f(x):\n    return g(2, x)\n", "g(2, x)") == []


@pytest.mark.parametrize(
    ("body", "is_offered"),
    [
        ("y = x.view(len(x), -1)\n    return torch.relu(y).mean(1)", True),
        ("return F.softmax(x, x.dim() - 1)", True),
        ("return x * x.sum().item()", False),
        ("return torch.from_numpy(np.sqrt(x))", False),
        ("return helper(x)", False),
    ],
)
def test_a_body_that_only_calls_torch_is_its_own_fake_implementation(body: str, is_offered: bool) -> None:
    text = OPERATOR.format("torch.Tensor").replace("return x", body, 1)
    text = f"import numpy as np\nimport torch.nn.functional as F\n{text}"
    found = [new for new in fixed(fake_kernel, text, "g(2, x)") if "empty_like" not in new]
    assert [new.count(body) for new in found] == ([2] if is_offered else [])


def test_all_operators_of_the_file_are_registered_at_once() -> None:
    text = OPERATOR.format("torch.Tensor").replace(
        "def f",
        "@torch.library.custom_op('a::h', mutates_args=())\n"
        "def h(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n\ndef f",
    )
    assert "@g.register_fake" in (new := fixed(fake_kernel, text, "g(2, x)")[-1])
    assert "@h.register_fake" in new


@pytest.mark.parametrize(
    ("expression", "new"),
    [
        ("x + float(x.numpy().sum())", "x + (x.sum())"),
        ("torch.from_numpy(np.sqrt(x.numpy()) * 2)", "(torch.sqrt(x) * 2)"),
        ("np.linalg.norm(x.numpy())", "np.linalg.norm(x)"),
    ],
)
def test_numpy_is_left_out(expression: str, new: str) -> None:
    text = "import torch\nimport numpy as np\n\ndef f(x):\n    return {}\n"
    assert fixed(without_numpy, text.format(expression), "x.numpy()") == [text.format(new)]


@pytest.mark.parametrize(
    ("expression", "new"),
    [
        ("int(x.sum())", ["x.sum().item()", "x.sum().long()"]),
        ("float(x)", ["x.item()", "x.detach()"]),
        ("bool(x > 0)", ["(x > 0).item()", "(x > 0)"]),
        ("int(x.sum().item())", ["x.sum().item()", "x.sum().long()"]),
        ("int(*x)", []),
        ("round(x)", []),
    ],
)
def test_a_number_is_read_from_the_tensor(expression: str, new: list[str]) -> None:
    assert fixed(tensor_item, f"y = {expression}\n", expression) == [f"y = {one}\n" for one in new]


def test_a_number_with_a_fraction_is_not_read_as_an_integer() -> None:
    error = "Could not guard on data-dependent expression zuf0 (unhinted: zuf0)."
    assert fixed(tensor_item, "y = int(x)\n", "int(x)", error) == ["y = x.long()\n"]
    assert fixed(tensor_item, "y = float(x)\n", "float(x)", error) == ["y = x.item()\n", "y = x.detach()\n"]


@pytest.mark.parametrize(
    ("expression", "part", "new"),
    [
        (
            "np.ceil(np.log(n)).astype('int').item()",
            "np.ceil(np.log(n)).astype('int').item()",
            "math.ceil(math.log(n))",
        ),
        ("3 * int(np.sqrt(n)) + n", "np.sqrt(n)", "3 * int(math.sqrt(n)) + n"),
        ("np.floor(n / 2)", "np.floor(n / 2)", "float(math.floor(n / 2))"),
        ("int(np.floor(n / 2))", "np.floor(n / 2)", "math.floor(n / 2)"),
        ("f(np.exp(n).astype(np.int64))", "np.exp(n)", "f(int(math.exp(n)))"),
        ("int(np.ceil(np.log(n) / np.log(2)))", "np.log(n)", "math.ceil(math.log(n) / math.log(2))"),
        ("np.log(f(np.log(n)))", "np.log(n)", "np.log(f(math.log(n)))"),
    ],
)
def test_a_number_is_computed_without_numpy(expression: str, part: str, new: str) -> None:
    text = f"import math\nimport numpy as np\n\ndef f(n):\n    return {expression}\n"
    assert fixed(math_functions, text, part) == [text.replace(expression, new)]


@pytest.mark.parametrize(
    "expression", ["np.argsort(n)", "np.prod(n)", "np.log(n, out=n)", "n.item()", "np.log(n).astype('f')"]
)
def test_what_math_does_not_have_stays(expression: str) -> None:
    text = f"import math\nimport numpy as np\n\ndef f(n):\n    return {expression}\n"
    assert fixed(math_functions, text, expression) == []


@pytest.mark.parametrize(
    ("body", "part", "new"),
    [
        ("return x[i]", "x[i]", "return x[i[None]][0]"),
        ("return x[:, i + 1]", "x[:, i + 1]", "return x[:, (i + 1)[None]][:, 0]"),
        ("return x[..., i, :]", "x[..., i, :]", "return x[..., i[None], :][..., 0, :]"),
        ("x[:, i] = 0", "x[:, i]", "x[:, i[None]] = 0"),
        (
            "x[i] = 0; x[i] = x; return x[i], x[:, i], x[i + 1]",
            "x[:, i]",
            "x[i[None]] = 0; x[i] = x; return x[i[None]][0], x[:, i[None]][:, 0], x[i + 1]",
        ),
    ],
)
def test_an_index_gets_a_dimension(body: str, part: str, new: str) -> None:
    text = f"def f(x, i):\n    {body}\n"
    assert fixed(tensor_index, text, part) == [text.replace(body, new)]


@pytest.mark.parametrize(
    "body",
    [
        "x[i] = x",
        "x[i, 0] = 1",
        "y = x[:]",
        "y = x[-1]",
        "y = x[[0, 1]]",
        "y = x[n > 0]",
        "y = x[f'{i}']",
        "y = x[i, i]",
        "x[i] += 1",
        "y = x[:, 1:]",
    ],
)
def test_other_indices_stay(body: str) -> None:
    part = body.partition(" = ")[2 if body.startswith("y") else 0].removesuffix(" += 1")
    assert fixed(tensor_index, f"def f(x, i):\n    {body}\n", part) == []


@pytest.mark.parametrize("body", ["x[i][0] = 1", "x[i].fill_(0)", "del x[i][0]"])
def test_what_changes_a_view_stays(body: str) -> None:
    assert fixed(tensor_index, f"def f(x, i):\n    {body}\n", "x[i]") == []


def test_a_tensor_without_dimensions_is_indexed_alike() -> None:
    x, i = torch.arange(24).view(2, 3, 4), torch.tensor(1)
    assert torch.equal(x[i], x[i[None]][0])
    assert torch.equal(x[:, i], x[:, i[None]][:, 0])
    assert torch.equal(x[..., i, :], x[..., i[None], :][..., 0, :])
    assert torch.equal(x[None, i], x[None, i[None]][:, 0])


def test_the_array_is_a_tensor_under_its_name_too() -> None:
    text = (
        "import numpy as np\nimport torch\n\ndef f(x):\n    a = x.numpy()\n    b = np.clip(a - a.min(), 0, 1)\n"
        "    c = b.astype(np.float32).copy()\n    return torch.from_numpy(np.sqrt(c))\n"
    )
    new = (
        "import numpy as np\nimport torch\n\ndef f(x):\n    a = x\n    b = torch.clamp(a - a.min(), 0, 1)\n"
        "    c = b.to(torch.float32).clone()\n    return (torch.sqrt(c))\n"
    )
    assert fixed(without_numpy, text, "x.numpy()") == [new]


def test_rnns_are_allowed_if_torch_says_how() -> None:
    text = "import torch\n\n\ndef f(x):\n    return x(x)\n"
    new = "import torch\n\ntorch._dynamo.config.allow_rnn = True\n\n\ndef f(x):\n    return x(x)\n"
    assert fixed(allow_rnn, text, "x(x)", "Hint: Set torch._dynamo.config.allow_rnn=True to enable") == [new]
    assert fixed(allow_rnn, text, "x(x)", "Attempted to call function marked as skipped") == []


@pytest.mark.parametrize(
    ("old", "part", "new"),
    [
        ("h = torch.zeros(3).to(x).requires_grad_()", "", "h = torch.zeros(3).to(x)"),
        ("h = Variable(torch.zeros(3), requires_grad=True)", "", "h = torch.zeros(3)"),
        ("h = x.new_zeros(3).requires_grad_()", "", "h = x.new_zeros(3)"),
        ("y.requires_grad = False", "y.requires_grad", "y = y.detach()"),
        ("x.requires_grad = False", "x.requires_grad", None),
        ("h = x.requires_grad_()", "", None),
        ("x.h = torch.zeros(3).requires_grad_()", "", None),
        ("h = Variable(x, requires_grad=True)", "", None),
        ("x.requires_grad = True", "x.requires_grad", None),
        ("h = torch.zeros(3).requires_grad_(); torch.autograd.grad(x, h)", "torch.zeros(3).requires_grad_()", None),
    ],
)
def test_a_new_tensor_needs_no_gradient(old: str, part: str, new: str | None) -> None:
    text = f"import torch\nfrom torch.autograd import Variable\n\ndef f(x):\n    {old}\n"
    found = fixed(without_leaf, text, part or old.partition(" = ")[2])
    assert found == ([text.replace(old, new)] if new else [])


@pytest.mark.parametrize(
    ("number", "error", "new"),
    [
        ("x.max().item() + 1", "data-dependent expression u0 + 1", ["y = x.max().item() + 1\n"]),
        ("x.max().item() / 2", "data-dependent expression TruncToInt(IntTrueDiv(u0, 2))", []),
    ],
)
def test_a_number_needs_no_int_if_it_is_an_integer(number: str, error: str, new: list[str]) -> None:
    found = fixed(tensor_item, f"y = int({number})\n", f"int({number})", error)
    assert [text for text in found if "item() +" in text or text.endswith("/ 2\n")] == new


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("self.heads[task.item()](x, n=2)", "torch.stack([each(x, n=2) for each in self.heads])[task.reshape(1)][0]"),
        ("self.heads[int(task[0])](x)", "torch.stack([each(x) for each in self.heads])[task[0].long().reshape(1)][0]"),
        ("self.heads[i](x)", "torch.stack([each(x) for each in self.heads])[i.reshape(1)][0]"),
        ("self.heads[task].weight", None),
        ("self.heads[task](torch.rand(2))", None),
        ("self.heads[1:](x)", None),
    ],
)
def test_all_modules_are_called_instead_of_one(call: str, new: str | None) -> None:
    text = "import torch\ndef f(self, x, task):\n    i = int(task.argmax())\n    return {}\n"
    failing = call.partition("(x")[0].removesuffix(".weight").removesuffix("(torch.rand(2))")
    mended = text.replace("int(task.argmax())", "task.argmax().long()") if "i.reshape" in str(new) else text
    assert fixed(all_modules, text.format(call), failing) == ([mended.format(new)] if new else [])


LOOP = """\
import torch
def f(x, n):
    y, out, step = x * 2, [], 0
    {head}
        {body}
        if y.sum() > n:
            break
    return {value}
"""


@pytest.mark.parametrize(
    ("head", "body", "value"),
    [
        ("for i in range(5):", "out.append(y)", "out"),  # the list would become longer
        ("for i in range(5):", "y.add_(1)", "y"),
        ("for i in range(5):", "y[0] = 1", "y"),
        ("for i in range(5):", "y = y + torch.rand(2)", "y"),  # would draw more random numbers
        ("for i in range(5):", "z = 2", "z"),  # a number
        ("for i in range(5):", "y = y * 2", "y, i"),
        ("for i in range(5):", "y = y * 2; x += 1", "y"),  # `x` may be something else, too
        ("for i in range(5):", "y = x = y * 2", "y, x"),
        ("while True:", "y = y * 2", "y"),
        ("while step >= 0:", "y = y * 2; step += 1", "y"),  # would never end without the break
        ("while step != n:", "y = y * 2; step += 2", "y"),
        ("while step < n:", "y = y * 2; step *= 2", "y"),
        ("while step < n:", "y = y * 2; step += 1; n += 1", "y"),
        ("while step < n:", "y = y * 2; step = step * 2", "y"),
        ("while step < n:", "y = y * 2; step += 1", "y, step"),
    ],
)
def test_a_loop_that_does_more_than_compute_values_ends_as_before(head: str, body: str, value: str) -> None:
    text = LOOP.format(head=head, body=body.replace("; ", "\n        "), value=value)
    assert fixed(whole_loop, text, "y.sum() > n") == []


EXIT = """\
import torch
def f(x, n):
    for i in range(5):
        x = x * 2
        y, z = x + i, x
        if (y.sum() > n) | (z.min() > n):
            return y, z
    return y, z
"""


def test_a_loop_makes_all_turns_if_it_returns_what_is_returned_below_it() -> None:
    (new,) = fixed(whole_loop, EXIT, "y.sum() > n")
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    exec(EXIT, before)
    exec(new, after)
    assert new.count("return") == 1
    for limit in (0, 9, 20, 10**6):
        pairs = zip(before["f"](torch.ones(2), limit), after["f"](torch.ones(2), limit), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    assert fixed(whole_loop, EXIT.replace("return y, z\n    ", "return z, y\n    "), "y.sum() > n") == []


def test_a_number_that_ends_a_loop_stays_a_tensor() -> None:
    text = LOOP.format(head="for i in range(5):", body="y = y * 2", value="y").replace("y.sum()", "y.sum().item()")
    (new,) = fixed(whole_loop, text, "y.sum().item() > n")
    assert "logical_not(y.sum().detach().double() > n)" in new


@pytest.mark.parametrize("head", ["for i in range(5):", "while step < n:", "while n > step:"])
def test_a_loop_makes_all_turns(head: str) -> None:
    body = "y = y * 2\n        step += 1" if head.startswith("while") else "y = y * 2"
    (new,) = fixed(whole_loop, LOOP.format(head=head, body=body, value="y"), "y.sum() > n")
    program: dict[str, Any] = {}
    exec(new, program)
    assert "break" not in new
    for limit in (0, 3, 20, 10**6):
        before: dict[str, Any] = {}
        exec(LOOP.format(head=head, body=body, value="y"), before)
        n = min(limit, 40) if head.startswith("while") else limit
        assert torch.equal(program["f"](torch.ones(2), n), before["f"](torch.ones(2), n))
