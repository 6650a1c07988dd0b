"""The text of an operator: the moved code, what registers it, its fake implementation, and its gradients."""

from __future__ import annotations

import ast
import itertools
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fx_lsp.fixes.editing.edited_source import Source, tuple_text, unused_name
from fx_lsp.fixes.operators.fake_results import is_cut_off
from fx_lsp.fixes.operators.operator import CREATING, Operator, called, changed_names
from fx_lsp.fixes.operators.value_kinds import Kind

_LONGEST_LINE = 100
"""Definitions that are longer have one line for each parameter."""

_FRESH = CREATING | {"clone", "new_tensor", "stack", "tensor"}
"""Functions whose results share no memory with their arguments."""


def definition(source: Source, operator: Operator, name: str, fake: str, torch: str) -> str:
    """The definitions that go above the class or function; ``fake`` is the body of the fake implementation."""
    parameters = [*operator.kinds]
    values = source.unused(f"{name}_values")
    returned = [] if operator.extraction.returns else [f"return {', '.join(operator.extraction.outputs)}"]
    copied = [f"{one} = {one}.clone()" for one in _changed(operator)]
    parts = [
        _function(values, parameters, [*copied, operator.extraction.body, *returned]),
        _registered(source, operator, name, torch, f"{values}({', '.join(parameters)})"),
        f"@{name}.register_fake\n" + _function(source.unused(f"{name}_fake"), parameters, [fake]),
        *_gradients(source, operator, name, values, torch),
    ]
    return "\n\n\n".join(parts)


def _function(name: str, parameters: Sequence[str], lines: Sequence[str], result: str = "") -> str:
    head = f"def {name}({', '.join(parameters)}){result}:"
    if len(head) > _LONGEST_LINE:
        head = f"def {name}(\n{''.join(f'    {one},{chr(10)}' for one in parameters)}){result}:"
    text = "\n".join(lines).split("\n")
    return "\n".join([head, *(f"    {line}" if line.strip() else line for line in text)])


def _registered(source: Source, operator: Operator, name: str, torch: str, call: str) -> str:
    """The operator, which returns copies of what ``call`` returns."""
    names = [f"result_{number}" for number in range(1, len(operator.results) + 1)]
    copies = [_copy(one, torch) if kind == "tensor" else one for one, kind in zip(names, operator.results, strict=True)]
    lines = [f"{', '.join(names)} = {call}", *_return(copies)]
    if len(names) == 1:
        lines = [f"return {_copy(call, torch)}"]
    return _custom_op(source, name, operator.kinds, operator.results, lines, torch)


def _return(values: Sequence[str]) -> list[str]:
    text = f"return {', '.join(values)}"
    return [text] if len(text) <= _LONGEST_LINE else ["return (", *(f"    {one}," for one in values), ")"]


def _copy(value: str, torch: str) -> str:
    """A copy with the strides that a fake implementation has, too, whatever the strides of ``value`` are."""
    return f"{value}.clone(memory_format={torch}.contiguous_format)"


def _custom_op(
    source: Source, name: str, kinds: Mapping[str, Kind], results: Sequence[Kind], lines: Sequence[str], torch: str
) -> str:
    types = {"tensor": f"{torch}.Tensor", "number": f"{torch}.types.Number"}
    texts = [types.get(kind, kind) for kind in results]
    result = texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"
    parameters = [f"{one}: {types.get(kind, kind)}" for one, kind in kinds.items()]
    decorator = f'@{torch}.library.custom_op("{_namespace(source.path)}::{name.strip("_")}", mutates_args=())'
    return f"{decorator}\n{_function(name, parameters, lines, f' -> {result}')}"


def _namespace(path: str) -> str:
    """A namespace for the operators of a file: another file may have the same name in another folder."""
    names = [part for part in (Path(path).parent.name, Path(path).stem) if part != "__init__"]
    text = re.sub(r"[^0-9A-Za-z]+", "_", "_".join(names)).strip("_").lower()
    return text if text.isidentifier() and not keyword.iskeyword(text) else f"operators_{text}".rstrip("_")


def _changed(operator: Operator) -> list[str]:
    """The parameters that the statements may change in place, which an operator must not do.

    All tensors, if the statements change something that may be a view of one.
    """
    tensors = [name for name, kind in operator.kinds.items() if kind == "tensor"]
    names = changed_names(operator.statements)
    is_clear = all(name is not None and (name in operator.kinds or _is_fresh(operator, name)) for name in names)
    return [name for name in tensors if name in names] if is_clear else tensors


def _is_fresh(operator: Operator, name: str) -> bool:
    """Whether a name only has values that share no memory with others."""
    values = operator.values.values_of(name)
    lists = (ast.List, ast.ListComp, ast.Dict, ast.Set, ast.Constant)
    return all(isinstance(one, lists) or (one is not None and called(one) in _FRESH) for one in values)


def _gradients(source: Source, operator: Operator, name: str, values: str, torch: str) -> list[str]:
    """What registers the gradients: None, or an operator that computes them by running ``values`` again.

    They are computed in an operator of their own since a capture may also follow the backward pass.
    """
    results = zip(operator.last_values(), operator.results, strict=True)
    chosen = [at for at, (result, kind) in enumerate(results) if kind == "tensor" and not is_cut_off(operator, *result)]
    wanted = [one for one, kind in operator.kinds.items() if kind == "tensor" and one not in operator.integers]
    if not chosen or not wanted or _uses_numpy(operator):
        nothing = "None" if len(operator.kinds) == 1 else tuple_text(["None"] * len(operator.kinds))
        return [f"{name}.register_autograd(lambda ctx, *gradients: {nothing})"]
    return _GradientText(source, operator, name, values, torch, wanted, chosen).parts()


def _uses_numpy(operator: Operator) -> bool:
    """Whether the statements make arrays of tensors, through which no gradient flows."""
    nodes = itertools.chain.from_iterable(map(ast.walk, operator.statements))
    return any(isinstance(node, ast.Call) and called(node) in ("from_numpy", "numpy") for node in nodes)


class _GradientText:
    """Writes the operator that computes gradients, and what registers it."""

    def __init__(
        self,
        source: Source,
        operator: Operator,
        name: str,
        values: str,
        torch: str,
        wanted: Sequence[str],
        chosen: Sequence[int],
    ) -> None:
        """Gradients are computed for the parameters ``wanted``, through the results with the indices ``chosen``."""
        self._source = source
        self._operator = operator
        self._name = name
        self._torch = torch
        self._wanted = wanted
        self._chosen = chosen
        self._call = f"{values}({', '.join(operator.kinds)})"
        used = {*operator.kinds}
        count = len(operator.results)
        names = [f"gradient_{number}" for number in range(1, count + 1)] if count > 1 else ["gradient"]
        self._given = [unused_name(one, used) for one in names]
        self._found = [unused_name(f"{one}_gradient", {*used, *self._given}) for one in wanted]
        self._backward = source.unused(f"{name}_backward")

    def parts(self) -> list[str]:
        """The operator, its fake implementation, and the registration."""
        name, source = self._name, self._source
        setup, applied = source.unused(f"{name}_setup"), source.unused(f"{name}_gradients")
        kinds: dict[str, Kind] = {**dict.fromkeys(self._through, "tensor"), **self._operator.kinds}
        fakes = _return([f"{one}.new_empty({one}.shape)" for one in self._wanted])
        results: list[Kind] = ["tensor"] * len(self._wanted)
        return [
            _custom_op(source, self._backward, kinds, results, self._computed(), self._torch),
            f"@{self._backward}.register_fake\n"
            + _function(source.unused(f"{self._backward}_fake"), [*kinds], ["\n".join(fakes)]),
            _function(setup, ["ctx", "inputs", "output"], self._saved()),
            _function(applied, ["ctx", *self._given], self._applied()),
            f"{name}.register_autograd({applied}, setup_context={setup})",
        ]

    @property
    def _through(self) -> list[str]:
        """The gradients of the results that count."""
        return [self._given[at] for at in self._chosen]

    def _computed(self) -> list[str]:
        used = {*self._operator.kinds, *self._given, *self._found}
        function, backward = unused_name("differentiable", used), unused_name("backward", used)
        results = unused_name("results", used)
        body = [f"    return {self._call}"]
        if len(self._operator.results) > 1:
            items = [f"{results}[{at}]" for at in self._chosen]
            body = [f"    {results} = {self._call}", f"    return {items[0] if len(items) == 1 else tuple_text(items)}"]
        given = self._through[0] if len(self._through) == 1 else tuple_text(self._through)
        return [
            f"def {function}({', '.join(self._wanted)}):",
            *body,
            "",
            f"_, {backward} = {self._torch}.func.vjp({function}, {', '.join(self._wanted)})",
            f"{', '.join(self._found) if len(self._found) > 1 else tuple_text(self._found)} = {backward}({given})",
            *_return([_copy(one, self._torch) for one in self._found]),
        ]

    @property
    def _count(self) -> int:
        """How many of the parameters are tensors."""
        return sum(kind == "tensor" for kind in self._operator.kinds.values())

    def _saved(self) -> list[str]:
        if self._count == len(self._operator.kinds):
            return ["ctx.save_for_backward(*inputs)"]
        return [f"ctx.save_for_backward(*inputs[:{self._count}])", f"ctx.numbers = inputs[{self._count}:]"]

    def _applied(self) -> list[str]:
        numbers = ["*ctx.numbers"] if self._count < len(self._operator.kinds) else []
        arguments = ", ".join([*self._through, "*ctx.saved_tensors", *numbers])
        by_name = dict(zip(self._wanted, self._found, strict=True))
        returned = [by_name.get(one, "None") for one in self._operator.kinds]
        return [f"{', '.join(self._found)} = {self._backward}({arguments})", *_return(returned)]
