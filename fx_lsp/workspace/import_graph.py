"""Which files import each other, according to their text alone; no file is run."""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from fx_lsp.documents.documents import on_disk
from fx_lsp.documents.parse import parsed


class ImportGraph:
    """The imports among some files.

    A module is looked for where Python might find it: in the given folders, in their ``src`` folders, in the folder
    above the importing file's outermost package, and beside that file. The module need not exist, so that the importers
    of a deleted file are found as well.
    """

    def __init__(self, files: Iterable[str], folders: Sequence[str]) -> None:
        """``files`` are absolute paths."""
        self._roots = [root for folder in folders for root in (folder, str(Path(folder, "src")))]
        self._importers: dict[str, set[str]] = defaultdict(set)
        """By the path of an imported module: the files that import it."""
        self._files = dict.fromkeys(files)
        for file in self._files:
            for imported in self._imports(file):
                self._importers[imported].add(file)

    def reached_by(self, changed: Iterable[str]) -> set[str]:
        """``changed``, and all files that import one of them directly or indirectly."""
        reached = set(changed)
        todo = list(reached)
        while todo:
            fresh = self._importers.get(todo.pop(), set()) - reached
            reached |= fresh
            todo += fresh
        return reached

    def _imports(self, file: str) -> Iterator[str]:
        """The paths that the modules imported by ``file`` may have."""
        package = package_of(file)
        top = str(PurePath(file).parents[len(package)])
        roots = dict.fromkeys([*self._roots, top, str(PurePath(file).parent)])
        # Importing a module also imports the packages that contain it, and so does importing this file.
        for module in {*_modules(file, package), ".".join(package)}:
            names = module.split(".") if module else []
            for root in roots:
                for depth in range(1, len(names) + 1):
                    base = os.path.join(root, *names[:depth])  # noqa: PTH118 (a hot loop)
                    yield f"{base}.py"
                    yield os.path.join(base, "__init__.py")  # noqa: PTH118


def package_of(file: str) -> tuple[str, ...]:
    """The names of the packages that contain ``file``, the outermost first."""
    names: list[str] = []
    folder = Path(file).parent
    while (folder / "__init__.py").exists() and folder != folder.parent:
        names.insert(0, folder.name)
        folder = folder.parent
    return tuple(names)


def _modules(file: str, package: tuple[str, ...]) -> Iterator[str]:
    """The dotted names that ``file`` imports at any place; ``from a import b`` may mean the module ``a.b``."""
    lines = on_disk(file)
    tree = parsed(lines.text) if lines else None
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*parents, *filter(None, [node.module])))
            yield module
            yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)


def imported_first(text: str) -> tuple[str, ...]:
    """The modules that a file imports under no condition, by absolute name, in the order of its ``text``.

    ``from a import b`` counts as an import of ``a``, because ``b`` need not be a module.
    """
    tree = parsed(text)
    statements = [
        inner for node in (tree.body if tree else ()) for inner in (node.body if isinstance(node, ast.Try) else [node])
    ]
    found: list[str] = []
    for node in statements:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return tuple(dict.fromkeys(found))
