"""Every other way in which tracing stops: one plain sentence for each kind."""

import ast

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import GENERAL, Rule, error_text, parsed, subject

_SENTENCES = {
    "iteration": "iterates over a traced value, and how many elements it has is not known while tracing.",
    "conversion": "needs the plain number or text that a traced value stands for, and while tracing there is none.",
    "item-assignment": (
        "assigns into a traced value, which cannot be recorded. Make a new value instead: `masked_fill`, `torch.where` "
        "or `index_put`."
    ),
    "containment": (
        "looks a traced value up in a container, and the comparison that this takes has no outcome while tracing. "
        "Decide by something that does not depend on the inputs."
    ),
    "not-a-submodule": (
        "calls a module that is not registered in the module being traced. Build it in `__init__` and keep it as an "
        "attribute, in an `nn.ModuleList` or in an `nn.ModuleDict`."
    ),
    "not-a-parameter": (
        "uses a parameter that is not registered in the module being traced. Make it in `__init__` and keep it as an "
        "attribute or in an `nn.ParameterList`."
    ),
    "argument": (
        "passes or returns an object that a graph cannot hold: only traced values, numbers, text, `None`, dtypes, "
        "devices and tuples, lists, dicts and slices of those can be recorded. Move the call into a function recorded "
        "with `torch.fx.wrap`."
    ),
    "dict-key": "uses a traced value as a key of a dict, which a graph cannot hold. Use plain numbers or text as keys.",
    "foreign-call": (
        "hands a traced value to code that accepts only real tensors or numbers. Use what torch has for it, or move "
        "the call into a function recorded with `torch.fx.wrap`."
    ),
    "higher-order": (
        "hands a Python function to an operator, which cannot be recorded. Move the call into a function recorded with "
        "`torch.fx.wrap`."
    ),
    "two-tracers": (
        "mixes values of two tracings. Look for a value that an earlier tracing left on the module, or a trace that is "
        "started inside of another."
    ),
    "call-binding": (
        "cannot be called with traced values as it is declared. Give arguments that are not tensors in "
        "`concrete_args`, and declare parameters by name instead of `*args` or a decorator that hides them."
    ),
    "exception": (
        "raises an error while being traced. Where it works on real tensors, it depends on something that a traced "
        "value does not have."
    ),
}
"""What is wrong and what to do, by the kind of failure; each continues a sentence that begins with the expression."""

_UNKNOWN = "cannot be traced. Move it into a function recorded with `torch.fx.wrap`."

_SELF_EXPLANATORY = frozenset({"containment", "conversion", "dict-key", "item-assignment", "iteration"})
"""Kinds of which fxcore's own error says no more than the sentence does."""

_CONVERSIONS = {
    "int": "Use `torch.sym_int`, which is recorded.",
    "float": "Use `torch.sym_float`, which is recorded.",
    "range": "Loop a number of times that is known: an attribute that `__init__` sets, or a constant.",
}
"""What to write instead of a builtin that wants a plain number."""


def _iteration_advice(expression: str) -> str:
    """What to do by the look of the expression that iterates."""
    match parsed(expression):
        case ast.Tuple(elts=elements) if any(isinstance(element, ast.Starred) for element in elements):
            return "Adding tuples is recorded: `x.shape + (n,)` for `(*x.shape, n)`."
        case ast.Call(args=arguments) if any(isinstance(argument, ast.Starred) for argument in arguments):
            return "Sizes can be passed as one tuple, which is recorded: `x.view(x.shape + (n,))`."
    return (
        "Unpack a fixed number of them (`a, b = ...`), index with a range that is known, or give a list input in "
        "`concrete_args`."
    )


def _conversion_advice(expression: str) -> str:
    """What to do by the look of the expression that wants a number or a text."""
    match parsed(expression):
        case ast.Call(func=ast.Name(id=name)) if name in _CONVERSIONS:
            return _CONVERSIONS[name]
        case ast.Subscript(slice=ast.Slice() | ast.Tuple()):
            return "Use `narrow` or `index_select`, which are recorded."
        case ast.JoinedStr():
            return "Leave the value out of the text."
        case ast.Call(args=[_, _, *_]):
            return "Sizes can be passed as one tuple, which is recorded: `torch.zeros((n, m))`."
    return "Move the expression into a function recorded with `torch.fx.wrap`."


_ADVICE = {"conversion": _conversion_advice, "iteration": _iteration_advice}


def message(failure: Failure, expression: str) -> str:
    """The sentence of the failure's kind, what to do, and Python's own error after it."""
    parts = [subject(expression), _SENTENCES.get(failure.kind, _UNKNOWN)]
    if advice := _ADVICE.get(failure.kind):
        parts.append(advice(expression))
    if detail := _detail(failure):
        parts.append(f"({detail})")
    return " ".join(parts)


def _detail(failure: Failure) -> str:
    """Python's own error, where it adds to the sentence; without the name of an exception of fxcore's own."""
    name, _, text = error_text(failure).partition(": ")
    if not name.endswith("Failure"):
        return error_text(failure)
    return "" if failure.kind in _SELF_EXPLANATORY else text


RULE = Rule(
    code=GENERAL,
    title="Something that symbolic tracing cannot record",
    why="""\
Symbolic tracing runs `forward` once with values that record operations: calls of torch's functions, of tensor methods,
of operators and of registered submodules. It stops where Python or a library needs what a real tensor holds: its
elements to iterate over, its value as a number, its storage in C++ code. The message tells which of these it is; where
Python's own error says more, or is what other tools show, it stands at the end.

Ways out, from the most specific to the most general:

- a form that is recorded: `x.size(0)`, `torch.sym_int(n)`, `s + (-1,)` for `(*s, -1)`, `torch.zeros((n, m))` for
  `torch.zeros(n, m)`, `masked_fill` for `x[mask] = v`;
- a value that is fixed: an attribute that `__init__` sets, or `concrete_args`;
- a function of its own at module level whose call is recorded with `torch.fx.wrap("its_name")`;
- a module that is not traced through: a `Tracer` whose `is_leaf_module` says so.""",
    bad="""\
import torch
import torch.fx
from torch import nn


class Total(nn.Module):
    def forward(self, images):
        total = 0
        for image in images:
            total = total + image.mean()
        return total


traced = torch.fx.symbolic_trace(Total())
""",
    good="""\
import torch
import torch.fx
from torch import nn


class Total(nn.Module):
    def forward(self, images):
        return images.flatten(1).mean(1).sum()


traced = torch.fx.symbolic_trace(Total())
""",
    message=message,
    fixes=("wrap",),
)
