"""Generation of a graph's source: the function's signature, its return statement and its line map.

`fxcore.code.emitter` writes the statements of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fxcore.code.emitter import CodeOptions, Emitter, Line, call_with_known
from fxcore.node import Argument, Node
from fxcore.nodes.namespace import _Namespace
from fxcore.torch_compat import children_of, torch_pytree

TransformCodeFunc = Callable[[list[str]], list[str]]
"""A function that takes the lines of a generated function's body and returns the lines to use."""

LineMap: TypeAlias = dict[int, int | None]
"""Maps the number of each line to the index of the node that the line was generated for, or None."""

ReprFn: TypeAlias = Callable[[object], str]
"""A function that writes a value as an expression."""


@dataclass
class PythonCode:
    """The source of a graph, with what is needed to run it or to write it to a file."""

    src: str
    """The definition of the function, preceded by the necessary calls to ``wrap``."""
    globals: dict[str, Any]
    """The objects outside the graph that ``src`` mentions, by their names in it."""
    # The index of the node of each line; lines are counted from the ``def``, which is line 0.
    _lineno_map: LineMap | None
    # The line of ``src`` (counted from 1) that contains the ``def``.
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """The traced function's parameters before they were flattened, and the structures of its inputs and its result."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any | None


class CodeGen:
    """Generates the source of a graph. Subclasses change the function's signature or how it returns its result."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name: str = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The header of the generated function: its ``def`` line or lines.

        ``free_vars`` are the parameters with their annotations and defaults; ``self`` is added if it is missing.
        ``maybe_return_annotation`` is ``" -> …"`` or empty. ``expanded_def`` puts each parameter on its own line.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        parameters = "\n" + "".join(map(_parameter_line, free_vars)) if expanded_def else ", ".join(free_vars)
        return f"def {self._func_name}({parameters}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Argument,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: ReprFn | None = None,
    ) -> str:
        """The return statement; ``repr_fn`` writes each value, and ``descs``, one for each value, become comments."""
        return f"return {_returned(output_args, descs, repr_fn or repr)}"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """The names that this code generator writes into the source, and the objects that they refer to."""
        return []

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders when the generated function is called with ``args``."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the generated function returns when the output node's value is ``outputs``."""
        return outputs

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: _Namespace, options: CodeOptions
    ) -> PythonCode:
        emitter = Emitter(self, root_module, namespace, options)
        body = emitter.emit(list(nodes))
        wraps = emitter.wrap_statements()
        if self._body_transformer is not None:
            body = _transform(body, self._body_transformer)
        for name, value in self.additional_globals():
            emitter.add_global(name, value)
        prologue = call_with_known(
            self.gen_fn_def, emitter.parameters, emitter.return_annotation, expanded_def=options.expanded_def
        )
        text = "".join(line for line, _ in body)
        code = text.lstrip("\n").replace("\n", "\n    ")
        skipped = len(text) - len(text.lstrip("\n"))
        return PythonCode(
            src=f"\n{wraps}\n\n{prologue}\n    {code}",
            globals=emitter.globals,
            _lineno_map=_line_map(body, first=prologue.count("\n") + 1 - skipped),
            _prologue_start=wraps.count("\n") + 4,
        )


def _transform(body: list[Line], transformer: TransformCodeFunc) -> list[Line]:
    """The body after ``transformer`` has been applied. An added line belongs to the node of the preceding line."""
    node_of = {id(text): node for text, node in body}
    transformed: list[Line] = []
    node: int | None = None
    for text in transformer([text for text, _ in body]):
        node = node_of.get(id(text), node)
        transformed.append((text, node))
    return transformed


def _line_map(body: list[Line], first: int) -> LineMap:
    lines: LineMap = {}
    number = first
    node: int | None = None
    for text, node in body:
        for _ in range(text.count("\n")):
            lines[number] = node
            number += 1
    lines[number] = node
    return lines


def _parameter_line(parameter: str) -> str:
    parameter, _, comment = parameter.partition("#")
    return f"    {parameter.rstrip()},  # {comment.lstrip()}\n" if comment else f"    {parameter},\n"


def _returned(value: Argument, descs: Sequence[str] | None, repr_fn: ReprFn) -> str:
    """The expression to return; given ``descs``, each item of a list or tuple is on its own line."""
    if descs is None or not isinstance(value, list | tuple):
        return repr_fn(value)
    left, right = "()" if isinstance(value, tuple) else "[]"
    items = "".join(f"    {repr_fn(item)},  # {desc}\n" for item, desc in zip(value, descs, strict=False))
    return f"{left}\n{items}{right}"


class _BoxedCodeGen(CodeGen):
    """Makes the function take its arguments in a list and empty that list, so that inputs can be freed early."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = [var.split(":")[0].split("=")[0].strip() for var in free_vars if var != "self"]
        lines = [f"def {self._func_name}(self, args_list){maybe_return_annotation}:"]
        if names:
            lines.append("args_iter = iter(args_list)")
            lines.extend(f"{name} = next(args_iter)" for name in names)
            lines.append("args_list.clear()")
        return "\n    ".join(lines)


class _PyTreeCodeGen(CodeGen):
    """Makes the function take and return the traced function's nested structures; the graph has only their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo | None) -> None:
        super().__init__()
        self.pytree_info: Any = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return torch_pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        leaves = out if isinstance(out, list | tuple) else [out]
        return torch_pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        fn_args = self.pytree_info.orig_args
        if fn_args and fn_args[0] == "self":
            free_vars.insert(0, "self")
        definition = super().gen_fn_def(fn_args[:], maybe_return_annotation, expanded_def=expanded_def)
        return definition + self.gen_var_bindings(fn_args, free_vars, expanded_def) if free_vars else definition

    def gen_var_bindings(self, fn_args: list[str], free_vars: list[str], expanded_def: bool) -> str:
        """The statements that unpack the parameters ``fn_args`` into the placeholders ``free_vars``."""
        taken_apart = f"fx_pytree.tree_flatten_spec({self._structure(fn_args)}, self._in_spec)"
        names = ", ".join(parameter.split(":")[0].split("#")[0] for parameter in free_vars)
        return f"{_annotations(free_vars, expanded_def)}\n    {names}, = {taken_apart}"

    def _structure(self, fn_args: list[str]) -> str:
        """The source of a list of the parameters; of a list and a dict if ``in_spec`` describes a tuple and a dict."""
        in_spec = self.pytree_info.in_spec
        parts = children_of(in_spec)
        if in_spec.type is not tuple or [part.type for part in parts] != [tuple, dict]:
            return f"[{', '.join(fn_args)}]"
        positional, by_keyword = parts
        names = self.pytree_info.orig_args
        count = positional.num_children
        by_key = zip(by_keyword.context, names[count:], strict=False)
        keywords = ", ".join(f"'{key}':{name}" for key, name in by_key)
        return f"([{', '.join(names[:count])}], {{{keywords}}})"

    def generate_output(
        self,
        output_args: Argument,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: ReprFn | None = None,
    ) -> str:
        if not (self.pytree_info and self.pytree_info.out_spec):
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({_returned(output_args, descs, repr_fn or repr)}, self._out_spec)"


def _annotations(parameters: list[str], expanded_def: bool) -> str:
    """Statements that annotate variables, because the targets of an unpacking assignment can't be annotated."""
    annotated = [parameter for parameter in parameters if ":" in parameter]
    if not annotated:
        return ""
    if expanded_def:
        return "".join(f"\n    {parameter}" for parameter in annotated)
    return "\n    " + "".join(f"{parameter}; " for parameter in annotated) + "\n"
