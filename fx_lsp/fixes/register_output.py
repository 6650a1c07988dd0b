"""Register the class of what a ``forward`` returns, so that ``torch.export`` knows which tensors an object holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, source_of
from fx_lsp.fixes.editing.import_edits import imported

_CLASS = re.compile(r"<class '([^']+)'>")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the class is a dataclass, or keeps what it knows in attributes, and the file knows its name."""
    span = failure.chain[-1].span if failure.chain else None
    source = source_of(span.file, read) if span else None
    found = _CLASS.search(failure.error)
    if span is None or source is None or found is None:
        return
    name = found[1].rpartition(".")[2]
    if name not in source.names.module.bindings:
        return
    torch = imported(source, "torch")
    definition = next((item for item in source.tree.body if isinstance(item, ast.ClassDef) and item.name == name), None)
    if definition is None or _is_dataclass(source, definition):
        call, how = f"{torch.name}.export.register_dataclass({name})", f"{torch.name}.export.register_dataclass"
    elif attributes := _kept_arguments(definition):
        values = ", ".join(f"value.{attribute}" for attribute in attributes)
        how = f"{torch.name}.utils._pytree.register_pytree_node"
        call = f"{how}(\n    {name},\n    lambda value: ([{values}], None),\n    lambda values, _: {name}(*values),\n)"
    elif _keeps_all_in_attributes(source, definition):
        how = f"{torch.name}.utils._pytree.register_pytree_node"
        make = source.unused(f"make_{name.lower()}")
        call = _MAKE.format(make=make, name=name, how=how)
    else:
        return
    change = _added(source, definition, call, span)
    if change is not None:
        yield Fix(f"Register {name} with {how}", (*torch.changes, change))


_MAKE = """\
def {make}(values, names):
    made = {name}.__new__({name})
    vars(made).update(zip(names, values))
    return made


{how}({name}, lambda value: (list(vars(value).values()), list(vars(value))), {make})"""
"""Registers a class whose objects are nothing but their attributes."""


def _keeps_all_in_attributes(source: Source, definition: ast.ClassDef) -> bool:
    """Whether all that an object of the class knows is in its attributes: it has no slots, and no unknown base."""
    known = {item.name: item for item in source.tree.body if isinstance(item, ast.ClassDef)}
    bases = [base for base in map(ast.unparse, definition.bases) if base != "object"]
    methods = {item.name for item in definition.body if isinstance(item, Function)}
    is_special = bool(definition.keywords) or not methods.isdisjoint({"__new__", "__setattr__"})
    has_slots = any(isinstance(node, ast.Name) and node.id == "__slots__" for node in ast.walk(definition))
    return not (is_special or has_slots) and all(
        base in known and _keeps_all_in_attributes(source, known[base]) for base in bases
    )


def _added(source: Source, definition: ast.ClassDef | None, call: str, span: Span) -> TextChange | None:
    """The change that registers the class below its definition or, if it is imported, above what returns it.

    None if nothing is at ``span``, since the text has changed.
    """
    if definition is not None:
        return source.below_definition(definition, call)
    outermost = [item for item in source.tree.body if item.lineno <= span.line <= (item.end_lineno or item.lineno)]
    return source.above_definition(outermost[0], call) if outermost else None


def _is_dataclass(source: Source, definition: ast.ClassDef) -> bool:
    functions = [item.func if isinstance(item, ast.Call) else item for item in definition.decorator_list]
    return "dataclasses.dataclass" in map(source.names.qualified, functions)


def _kept_arguments(definition: ast.ClassDef) -> list[str]:
    """The attributes under which a class without bases keeps its arguments, in their order; empty if it does more."""
    match [item for item in definition.body if isinstance(item, Function)]:
        case [ast.FunctionDef(name="__init__", args=ast.arguments(posonlyargs=[], vararg=None, kwonlyargs=[])) as init]:
            pass
        case _:
            return []
    kept: dict[str, str] = {}
    for statement in init.body:
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=argument)):
                kept[argument] = name
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, ast.Attribute) and isinstance(value, ast.Name):
                        kept[value.id] = target.attr
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                return []
    arguments = [argument.arg for argument in init.args.args[1:]]
    is_plain = not definition.bases and not definition.keywords and not init.args.kwarg
    return [kept[argument] for argument in arguments] if is_plain and kept.keys() == set(arguments) else []
