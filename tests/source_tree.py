"""The source as a tree of files that import each other, told from its text: for the tests of the architecture."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]

Graph = Mapping[str, Iterable[str]]
"""Node -> the nodes it points to."""


@functools.cache
def modules(*folders: str) -> tuple[Path, ...]:
    """Every module of some folders, relative to the root."""
    found = [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return tuple(found)


@functools.cache
def syntax(module: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def imported_names(module: Path, *, only_at_run_time: bool = False) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it, as absolute names.

    ``only_at_run_time`` leaves out those under ``if TYPE_CHECKING``.
    """
    package = [*module.parent.parts]
    for node in _nodes(syntax(module), only_at_run_time=only_at_run_time):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _nodes(node: ast.AST, *, only_at_run_time: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if only_at_run_time and isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _nodes(child, only_at_run_time=only_at_run_time)


def imported_modules(module: Path, package: str, *, only_at_run_time: bool = False) -> set[Path]:
    """The modules of ``package`` that a module imports."""
    found = (_file(name) for name in imported_names(module, only_at_run_time=only_at_run_time))
    return {file for file in found if file and file.parts[0] == package and file != module}


def _file(name: str) -> Path | None:
    """The module that a dotted name is, or is a name in; None for what is not ours."""
    parts = name.split(".")
    tries = (Path(*parts[:length]) for length in (len(parts), len(parts) - 1) if length)
    files = (file for path in tries for file in (path.with_suffix(".py"), path / "__init__.py"))
    return next((file for file in files if (ROOT / file).exists()), None)


def folder_graph(package: str) -> dict[str, set[str]]:
    """Each folder of a package -> the folders that its modules import from. A package's ``__main__`` does not count."""
    graph: dict[str, set[str]] = {}
    for module in modules(package):
        if module.name != "__main__.py":
            own = str(module.parent)
            others = {str(other.parent) for other in imported_modules(module, package)}
            graph.setdefault(own, set()).update(others - {own})
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that reach each other (Tarjan's strongly connected components of more than one), sorted."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in numbers:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == numbers[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in numbers:
            visit(node)
    return sorted(found)


def defines(file: str, qualname: str) -> bool:
    """Whether a file defines a function, class or variable, e.g. ``Tracer.trace``."""
    body: list[ast.stmt] = syntax(Path(file)).body
    for name in qualname.split("."):
        found = next((statement for statement in body if name in _names(statement)), None)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


def _names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return {target.id for target in targets if isinstance(target, ast.Name)}
