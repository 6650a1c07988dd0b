"""Record calls to a module instead of tracing into it: its class becomes a leaf of a custom tracer, or of a directive.

The fix edits the tracing call; if there is none, it adds a directive above the root. It helps only if the failure is in
a submodule rather than in the root itself.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes.autograd_call import is_in_autograd_function
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.import_edits import Imported, imported
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.editing.tracing_call_edits import TracingCall, directive, tracing_calls
from fx_lsp.workspace.import_graph import package_of

_NO_HELP = frozenset({"build", "call-binding", "import", "two-tracers"})
"""Kinds of failure that a leaf does not fix."""

_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions whose code runs later, or more than once."""

_TRACER = """\
class {name}({fx}.Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, {leaf}) or super().is_leaf_module(m, module_qualified_name)
"""


def fixes(failure: Failure, read: ReadText, calls: Sequence[Span]) -> Iterator[Fix]:
    """One fix for each call that traces the program: the innermost module around the failure becomes a leaf.

    If no call traces the program, one fix with a directive. If the program does not know a module as its own, it may
    not know the one around it either: then the modules around that follow.
    """
    modules = [] if failure.kind in _NO_HELP else _modules_around(failure, read)
    for file, name in modules if failure.kind == "not-a-submodule" else modules[:1]:
        yield from _with_leaf(failure, read, calls, file, name)


def _with_leaf(failure: Failure, read: ReadText, calls: Sequence[Span], file: str, name: str) -> Iterator[Fix]:
    """The fixes that make the class ``name`` of ``file`` a leaf."""
    for call in tracing_calls(calls, read):
        known = _known(call.source, file, name)
        if known is not None and (changes := _changes(call, known.name)):
            yield Fix(f"Trace with {name} as a leaf", (*known.changes, *changes))
    outermost = None if calls else next(editable(failure.chain[:1], read), None)
    function = outermost[0].function(outermost[1]) if outermost else None
    if outermost is not None and function is not None:
        known = _known(outermost[0], file, name)
        if known is not None and (said := directive(outermost[0], function, f"leaf({known.name})")):
            yield Fix(f"Trace with {name} as a leaf", (*known.changes, said))


def _modules_around(failure: Failure, read: ReadText) -> list[tuple[str, str]]:
    """The file and name of each module whose ``forward`` leads to the failure, the innermost first, but for the root.

    An autograd function, which has a ``forward``, too, is no module.
    """
    inner = [step for step in reversed(failure.chain[1:]) if not is_in_autograd_function(step, read)]
    steps = ((step.span.file, *step.name.rpartition(".")) for step in inner)
    found = [(file, class_) for file, class_, _, method in steps if method == "forward" and class_.isidentifier()]
    return [*dict.fromkeys(found)]


def _known(source: Source, file: str, name: str) -> Imported | None:
    """How ``source`` can refer to the class ``name`` of ``file``; None if ``source`` cannot import the class."""
    if file == source.path:
        return Imported(name, ())
    module = _module_name(file, source.path)
    if module is None:
        return None
    names = source.names.imported.items()
    local = next((local for local, qualified in names if qualified == f"{module}.{name}"), None)
    if local is not None and local in source.names.module.bindings:
        return Imported(local, ())
    home = imported(source, module)
    return Imported(f"{home.name}.{name}", home.changes)


def _module_name(file: str, importer: str) -> str | None:
    """The dotted name of ``file`` for an import in ``importer``.

    None if ``file`` is neither in a package nor in the same folder, or if its path is not a valid name.
    """
    path = PurePath(file)
    parts = [*package_of(file), path.stem]
    is_found = len(parts) > 1 or path.parent == PurePath(importer).parent
    return ".".join(parts) if is_found and all(part.isidentifier() for part in parts) else None


def _changes(call: TracingCall, leaf: str) -> tuple[TextChange, ...]:
    """The changes that make ``leaf`` a leaf for the tracer that the call uses; empty if fx-lsp cannot edit the call."""
    if not call.is_plain:
        change = _one_more(call.source, leaf)
        return (change,) if change is not None else ()
    source, statement = call.source, call.source.statement(call.call)
    is_simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
    between = itertools.takewhile(lambda outer: outer is not statement, source.around(call.call))
    if not is_simple or source.indent(statement).strip() or any(isinstance(outer, _LATER) for outer in between):
        return ()
    fx = imported(source, "torch.fx")
    tracer, made, graph = map(source.unused, ("LeafTracer", "tracer", "graph"))
    arguments = ", ".join(source.slice(node) for node in (call.root, call.concrete_args) if node is not None)
    (start, end), (first, last) = source.offsets(statement), source.offsets(call.call)
    lines = (
        f"{made} = {tracer}()",
        f"{graph} = {made}.trace({arguments})",
        f"{source.text[start:first]}{fx.name}.GraphModule({made}.root, {graph}){source.text[last:end]}",
    )
    definition = source.above_definition(statement, _TRACER.format(name=tracer, fx=fx.name, leaf=leaf))
    above = source.lines.offset_of_python(definition.span.line, 0)
    traced = f"\n{source.indent(statement)}".join(lines)
    text = source.text[:above] + definition.text + source.text[above:start] + traced + source.text[end:]
    return (*fx.changes, *changes_between(source.path, source.text, text))


def _one_more(source: Source, leaf: str) -> TextChange | None:
    """The change that adds ``leaf`` to the leaf classes of the file's own tracer; None if the file lists none."""
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef(
                name="is_leaf_module",
                body=[
                    ast.Return(
                        value=ast.BoolOp(
                            op=ast.Or(), values=[ast.Call(func=ast.Name(id="isinstance"), args=[_, leaves]), *_]
                        )
                    )
                ],
            ):
                if isinstance(leaves, ast.Tuple) and leaves.elts:
                    return source.behind(leaves.elts[-1], f", {leaf}")
                return source.replaced(leaves, f"({source.slice(leaves)}, {leaf})")
    return None
