"""How other files of the workspace build the classes of a file: the README, the tests, the modules that use them,
and YAML files that configure them.

Classes whose own file shows how to build them are skipped. A first pass over all files finds the files that mention a
class. Only these files are parsed, and parsed again only when their text has changed.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from fx_lsp.agent.messages import Intent, Recipe, Snippet, Target
from fx_lsp.targets.inferred_targets import Classes
from fx_lsp.targets.prose_code import code_in_markdown
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.yaml_code import code_in_yaml
from fx_lsp.workspace.import_graph import package_of
from fx_lsp.workspace.python_files import files_below

MOST_FILES = 3000
"""The maximum number of files that are searched in one workspace."""

MOST_READ = 12
"""The maximum number of files that are parsed for one class."""

MOST_RECIPES = 4
MOST_HOSTS = 2
DEPTH = 3
"""How many levels of hosts (classes that use the class) are searched: a layer in a block in a model."""

_NAME = re.compile(r"\b_*[A-Z]\w+|\b[a-z_]\w*(?=\()")
_CLASS = re.compile(r"^class\s+(\w+)", re.MULTILINE)
_PROSE = (".md", ".rst")
_YAML = (".yaml", ".yml")
_CODE = (".py", *_PROSE)

Texts = Callable[[str], str | None]
"""Path -> the text of the file; None if it cannot be read."""


@dataclass(frozen=True)
class _File:
    """What the first pass finds in one file."""

    names: frozenset[str]
    """All words that look like the name of a class, and all names that are called."""
    classes: frozenset[str]
    """The classes that the file defines."""
    uses: int
    """A hash of the names that each of ``classes`` uses."""

    @classmethod
    def of(cls, text: str) -> _File:
        """What the first pass finds in ``text``."""
        starts = [(match[1], match.start()) for match in _CLASS.finditer(text)]
        ends = [*(start for _, start in starts[1:]), len(text)]
        used = [
            (name, frozenset(_NAME.findall(text, start, end))) for (name, start), end in zip(starts, ends, strict=False)
        ]
        names = frozenset(map(sys.intern, _NAME.findall(text)))  # the same in many files
        return cls(names, frozenset(name for name, _ in starts), hash(tuple(used)))


class WorkspaceRecipes:
    """Recipes from all files of a workspace's folders. May be used by several threads."""

    def __init__(self, folders: Callable[[], Iterable[str]], texts: Texts) -> None:
        self._folders = folders
        self._texts = texts
        self._files: dict[str, _File] | None = None
        self._shown: dict[str, ShownCalls | None] = {}
        self._found: dict[tuple[str, str], tuple[tuple[Recipe, ...], tuple[Recipe, ...]]] = {}
        self._lock = threading.Lock()

    def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """The targets of the file ``path``, with recipes from other files if it does not show how to build them."""
        with self._lock:
            return tuple(self._completed(path, target) if lacks_own_recipe(target) else target for target in targets)

    def changed(self, path: str) -> frozenset[str]:
        """Forget what the old text of a file showed; return the names of the classes whose recipes may have changed."""
        with self._lock:
            if self._files is None:
                return frozenset()
            before = self._files.pop(path, None)
            if now := self._look(path):
                self._files[path] = now
            self._shown.pop(path, None)
            names = (before.names if before else frozenset()) | (now.names if now else frozenset())
            is_used_alike = before is not None and now is not None and before.uses == now.uses
            for key in list(self._found):
                if key[0] != path or not is_used_alike:
                    del self._found[key]
            return names

    def forget(self) -> None:
        """Forget everything, after a change that may affect all files, e.g. to the workspace's folders."""
        with self._lock:
            self._files = None
            self._shown.clear()
            self._found.clear()

    def _completed(self, path: str, target: Target) -> Target:
        key = path, target.symbol or ""
        if key not in self._found:
            recipes = tuple(sorted(self._direct(*key), key=_needs_download)[:MOST_RECIPES])
            hosts = self._hosts(*key) if target.recipe.made_up else ()
            self._found[key] = recipes, tuple(host for host in hosts if not (recipes and host.made_up))
        recipes, hosts = self._found[key]
        known = (target.recipe, *target.fallbacks)
        shown = [_with_directives_of(recipe, known[0]) for recipe in recipes]
        first, *rest = sorted((*known, *shown), key=lambda recipe: recipe.made_up)
        intent: Intent = "assumed" if first.made_up else "inferred"
        return dataclasses.replace(target, recipe=first, fallbacks=tuple(rest), intent=intent, hosts=hosts)

    def _direct(self, path: str, name: str) -> Iterator[Recipe]:
        """How the class ``name`` of the file ``path`` is built in other files: by itself, or by a function there is."""
        seen = set()
        for recipe in (*self._calls(path, name, own=False), *self._calls_of_functions(path, name)):
            if recipe.root.source not in seen:
                seen.add(recipe.root.source)
                yield recipe

    def _calls(self, path: str, name: str, *, own: bool) -> Iterator[Recipe]:
        """How a class or function ``name`` of the file ``path`` is called in other files, or also in its ``own``."""
        for other, shown in self._mentioning(path, name, own=own):
            if other == path or (not shown.defines(name) and self._may_mean(shown, name, path)):
                yield from shown.recipes(name)

    def _calls_of_functions(self, path: str, name: str) -> Iterator[Recipe]:
        """How functions are called, anywhere, that return an instance of the class ``name`` of the file ``path``."""
        for other, shown in self._mentioning(path, name, own=True):
            if other == path or (not shown.defines(name) and self._may_mean(shown, name, path)):
                for function in shown.functions_returning(name):
                    yield from self._calls(other, function, own=True)

    def _hosts(self, path: str, name: str) -> tuple[Recipe, ...]:
        """How to build modules of other files that contain instances of the class ``name`` of the file ``path``."""
        sure: dict[Recipe, None] = {}
        made_up: dict[Recipe, None] = {}
        todo, seen = [(path, name, 0)], {(path, name)}
        while todo and len(sure) < MOST_HOSTS:
            at, held, depth = todo.pop(0)
            for other, shown, host in self._holding(at, held):
                if (other, host) in seen:
                    continue
                seen.add((other, host))
                known = () if other == path else self._known(other, shown, host)
                sure.update(dict.fromkeys(known))
                if not known and depth < DEPTH:
                    todo.append((other, host, depth + 1))
                if not known and other != path and (recipe := shown.made_up(host)):
                    made_up[recipe] = None
        if sure:
            return tuple(sure)[:MOST_HOSTS]
        return (*list(made_up)[:1], *list(self._factories(path, name))[:1])

    def _factories(self, path: str, name: str) -> Iterator[Recipe]:
        """Functions, to be called with invented arguments, that return instances of the class ``name``."""
        for other, shown in self._mentioning(path, name, own=True):
            if other == path or (not shown.defines(name) and self._may_mean(shown, name, path)):
                yield from shown.factories(name, own=other == path)

    def _known(self, path: str, shown: ShownCalls, name: str) -> list[Recipe]:
        """The most certain way to build the class ``name`` of the file ``path``; empty if there is none."""
        for recipe in (_needing_nothing(shown, name), *self._direct(path, name), *shown.recipes(name)):
            if recipe is not None:
                return [recipe]
        return []

    def _holding(self, path: str, name: str) -> Iterator[tuple[str, ShownCalls, str]]:
        """The classes whose bodies use the class ``name`` of the file ``path``, with their files."""
        for other, shown in self._mentioning(path, name, own=True):
            is_own = other == path
            is_imported = shown.imported_as(name) or shown.names.star_imports
            if is_own or (is_imported and self._may_mean(shown, name, path)):
                yield from ((other, shown, host) for host in shown.hosts(name))

    def _mentioning(self, path: str, name: str, *, own: bool = False) -> Iterator[tuple[str, ShownCalls]]:
        """Files that mention ``name``: first tests, then prose, then other files, the nearest to ``path`` first."""
        files = self._looked_at()
        others = [other for other, file in files.items() if name in file.names and (own or other != path)]
        for other in sorted(others, key=lambda other: _distance(other, path))[:MOST_READ]:
            shown = self._read(other)
            if shown is not None:
                yield other, shown

    def _may_mean(self, shown: ShownCalls, name: str, path: str) -> bool:
        """Whether ``name`` in ``shown`` may refer to the class of that name in the file ``path``.

        True unless an import shows otherwise.
        """
        imported = shown.imported_as(name)
        if imported is None:
            return True
        module = imported.lstrip(".").rpartition(".")[0].replace(".", "/")
        files = self._looked_at()
        top = module.partition("/")[0]
        if not imported.startswith(".") and not any(
            f"/{top}/" in file or file.endswith(f"/{top}.py") for file in files
        ):
            return False
        named = [file for file in files if module and file.endswith((f"/{module}.py", f"/{module}/__init__.py"))]
        return path in named or not any(name in files[file].classes for file in named)

    def _looked_at(self) -> dict[str, _File]:
        if self._files is None:
            self._files = {path: file for path in self.files_of(self._folders()) if (file := self._look(path))}
        return self._files

    @staticmethod
    def files_of(folders: Iterable[str]) -> list[str]:
        """The files of a workspace with these folders that may contain recipes. YAML comes last: there may be a lot."""
        roots = [Path(folder) for folder in folders]
        found = (path for kinds in (_CODE, _YAML) for root in roots for path in files_below(root, kinds))
        return [str(path) for path, _ in zip(found, range(MOST_FILES), strict=False)]

    def _look(self, path: str) -> _File | None:
        if not path.endswith((*_CODE, *_YAML)):
            return None
        text = self._texts(path)
        return None if text is None else _File.of(text)

    def _read(self, path: str) -> ShownCalls | None:
        if path not in self._shown:
            self._shown[path] = _shown(path, self._texts(path) or "")
        return self._shown[path]


def _shown(path: str, text: str) -> ShownCalls | None:
    stem = PurePath(path).stem
    module = (*package_of(path), *([] if stem == "__init__" else [stem])) if path.endswith(".py") else ()
    code = code_in_markdown(text) if path.endswith(_PROSE) else code_in_yaml(text) if path.endswith(_YAML) else text
    try:
        return ShownCalls(path, code, module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _needing_nothing(shown: ShownCalls, name: str) -> Recipe | None:
    """A call to the class ``name`` without arguments; None if the class needs arguments or cannot be imported."""
    made_up, classes = shown.made_up(name), Classes(shown.names)
    node = classes.get(name)
    if made_up is None or node is None or not classes.needs_no_argument(node):
        return None
    return dataclasses.replace(made_up, root=Snippet(f"{name}()", made_up.root.line), made_up=False)


def lacks_own_recipe(target: Target) -> bool:
    """Whether the target's own file shows at most a call without arguments to build it, which may not be enough."""
    if target.intent == "explicit" or target.symbol is None or not target.key.startswith("class:"):
        return False
    own = [recipe for recipe in (target.recipe, *target.fallbacks) if not recipe.made_up and not recipe.file]
    return all(recipe.root.source == f"{target.symbol}()" for recipe in own)


def _needs_download(recipe: Recipe) -> bool:
    """Whether the recipe loads pretrained weights: this needs the network, which a trace cannot use."""
    return "pretrained(" in recipe.root.source or "pretrained=True" in recipe.root.source


def _with_directives_of(recipe: Recipe, of: Recipe) -> Recipe:
    """``recipe`` with the tracer, leaves and concrete arguments of ``of``, which directives have set, and its inputs.

    ``recipe`` keeps its own inputs if ``of`` has none.
    """
    said = {name: getattr(of, name) for name in ("concrete_args", "tracer", "leaves")}
    return dataclasses.replace(recipe, **said, inputs=of.inputs or recipe.inputs)


def _distance(other: str, path: str) -> tuple[int, int, str]:
    """A sort key: lower for files that are more likely to build the classes of ``path`` as intended."""
    parts = PurePath(other).parts
    is_test = parts[-1].startswith("test") or not {"test", "tests"}.isdisjoint(parts)
    rank = 0 if is_test else 1 if other.endswith(_PROSE) else 2
    shared = sum(1 for a, b in zip(parts, PurePath(path).parts, strict=False) if a == b)
    return rank, -shared, other
