"""Which captures the workspace uses on which classes: what its calls capture, and what that is built of.

Files that do not contain a word such as ``export`` are not parsed, unless what is captured comes from them.
"""

from __future__ import annotations

import ast
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path, PurePath

from fx_lsp.agent.messages import Capture, Target
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.parse import tree_of
from fx_lsp.documents.scopes import CodePlace, Function
from fx_lsp.documents.source_size import is_oversize
from fx_lsp.targets.capture_calls import CaptureCall, capture_calls, with_argument
from fx_lsp.targets.program_origins import Origins, chains
from fx_lsp.targets.workspace_recipes import MOST_FILES, Texts
from fx_lsp.workspace.import_graph import package_of
from fx_lsp.workspace.python_files import python_files

_WORDS = (
    *("export", "compile", "symbolic_trace", "Tracer", "_pt2e", "_fx", "to_edge", "aot", "fuse", "edge_torch.convert"),
    *("litert_torch", "create_feature_extractor", "get_graph_node_names"),
)
_MARKS = re.compile(
    r"\bexport\s*\(|\b(?:draft_export|export_for_\w+|dynamo_export|prepare_(?:qat_)?(?:pt2e|fx)|fuse_fx|to_edge\w*|aot\w*"
    r"|symbolic_trace|Tracer|create_feature_extractor|get_graph_node_names)\b"
    r"|(?<!\bre)\.compile\b|\b(?:from|import)\s+(?:torch|ai_edge_torch|litert_torch)\b[^\n]*\b(?:compile|convert|fuse)\b"
    r"|\b(?:ai_edge_torch|litert_torch)\.convert\b|\boptimization\.fuse\b"
)
"""Matches in every file that may capture something. It is slow, so it is tried only if one of `_WORDS` occurs."""

_Node = tuple[str, str]
"""A file, and the name of a class, function or variable at its top level."""


class _Interrupted(Exception):
    """Ends an update."""


@dataclass(frozen=True)
class CaptureUse:
    """What the workspace does to one class, function or instance."""

    captures: frozenset[Capture] = frozenset()
    is_whole: bool = False
    """Whether it is compiled with ``fullgraph=True``."""
    to_onnx: bool = False
    """Whether it is exported to ONNX, which has none of the program's own operators."""


@dataclass
class _File:
    """What one text captures, and what its top-level names read."""

    path: str
    names: Names
    calls: tuple[CaptureCall, ...]
    definitions: Mapping[str, ast.stmt]
    """The top-level classes and functions by name."""
    reads: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each of them that was asked about, the dotted names that it reads; filled in as needed."""

    def read_by(self, name: str) -> frozenset[str]:
        """The dotted names, as in `CaptureCall.made_of`, that a class or function reads or a variable comes from."""
        if name not in self.reads:
            try:
                self.reads[name] = self._read_by(name)
            except RecursionError:  # in what no call can stand in, e.g. an annotation; else, the file is left out
                self.reads[name] = frozenset()
        return self.reads[name]

    def _read_by(self, name: str) -> frozenset[str]:
        if node := self.definitions.get(name):
            return frozenset(map(self._origin, chains(node)))
        at_end = CodePlace(self.names.module, ast.Pass())
        return Origins(self.names).of(ast.Name(name, ast.Load()), at_end)[0]

    def _origin(self, chain: str) -> str:
        """A dotted name, as it is known outside this file if the file imports it."""
        head, _, rest = chain.partition(".")
        origin = self.names.imported.get(head, head)
        return f"{origin}.{rest}" if rest else origin


class CaptureUses:
    """The uses in the files of a workspace's folders. `update` may run in another thread than everything else."""

    def __init__(
        self,
        folders: Callable[[], Iterable[str]],
        texts: Texts,
        onnx_exports: Callable[[str], bool] = lambda path: True,
    ) -> None:
        """``onnx_exports`` returns whether ``torch.onnx.export``, in a file, uses ``torch.export`` by default."""
        self._folders = folders
        self._texts = texts
        self._onnx_exports = onnx_exports
        self._lock = threading.Lock()
        self._paths: list[str] | None = None
        self._marked: dict[str, bool] = {}
        """By file: whether it contains one of `_MARKS`."""
        self._modules: dict[tuple[str, str], tuple[str, ...]] = {}
        """By the folder of an importing file and the name of a module: the files that the name may stand for."""
        self._words: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        """By file: the words that were looked for, and those of them that it contains."""
        self._files: dict[str, _File | None] = {}
        self._changed: set[str] = set()
        self._is_complete = False
        self._interrupted = threading.Event()
        self._uses: Mapping[_Node, CaptureUse] = {}
        self.generation = 0
        """How often the uses have changed."""

    def of(self, target: Target) -> CaptureUse:
        """What the workspace does to a target, as far as the last `update` has found out."""
        path = target.span.file
        names = (target.symbol, target.key.removeprefix("instance:"))
        found = [self._uses[path, name] for name in names if name and (path, name) in self._uses]
        captures: frozenset[Capture] = frozenset().union(*(use.captures for use in found))
        if target.intent == "explicit":
            captures |= {"fx"}
        return CaptureUse(captures, any(use.is_whole for use in found), any(use.to_onnx for use in found))

    def changed(self, path: str) -> None:
        """Look at a file again in the next `update`."""
        self._changed.add(path)

    def forget(self) -> None:
        """Look at everything again in the next `update`."""
        self._is_complete, self._paths = False, None
        self._modules.clear()
        self._changed.update(self._marked)

    def interrupt(self) -> None:
        """End a running `update` soon; the next one continues."""
        self._interrupted.set()

    def update(self, opened: Iterable[str] = ()) -> None:
        """Look at what has changed, unless `interrupt` is called.

        ``opened``: open documents, which may be outside of the folders.
        """
        with self._lock:
            self._interrupted.clear()
            new = [path for path in opened if path not in self._marked]
            if self._is_complete and not self._changed and not new:
                return
            while self._changed:
                path = self._changed.pop()
                self._marked.pop(path, None)
                self._words.pop(path, None)
                self._files.pop(path, None)
            if self._paths is None:
                found = (str(path) for folder in self._folders() for path in python_files(Path(folder)))
                self._paths = list(islice(found, MOST_FILES))
            paths = list(dict.fromkeys([*self._paths, *new]))
            if paths != self._paths:
                self._modules.clear()
            self._paths = paths
            self._is_complete = False
            try:
                for path in self._paths:
                    if path not in self._marked:
                        self._marked[path] = _is_marked(self._read(path))
                uses = self._found()
            except _Interrupted:
                return
            self._is_complete = True
            if uses != self._uses:
                self._uses = uses
                self.generation += 1

    def _found(self) -> dict[_Node, CaptureUse]:
        captures: dict[_Node, set[Capture]] = defaultdict(set)
        whole: set[_Node] = set()
        onnx: set[_Node] = set()
        for path, call in [*self._calls(), *self._calls_elsewhere()]:
            for node in self._reached(path, call.made_of):
                captures[node].add(call.capture)
                if call.is_whole:
                    whole.add(node)
                if call.to_onnx:
                    onnx.add(node)
        return {node: CaptureUse(frozenset(found), node in whole, node in onnx) for node, found in captures.items()}

    def _calls(self) -> Iterator[tuple[str, CaptureCall]]:
        for path, is_marked in self._marked.items():
            file = self._file(path) if is_marked else None
            yield from ((path, call) for call in (file.calls if file else ()))

    def _calls_elsewhere(self) -> Iterator[tuple[str, CaptureCall]]:
        """What other files pass to the functions that capture their arguments."""
        capturing = [(owner, captured, parameter) for owner, captured in self._calls() for parameter in captured.passed]
        functions = frozenset(parameter.function for _, _, parameter in capturing)
        mentioned = {path: self._mentioned(path, functions) for path in self._marked} if functions else {}
        for owner, captured, parameter in capturing:
            for path, words in mentioned.items():
                if path == owner or parameter.function not in words or (file := self._file(path)) is None:
                    continue
                for call, place in file.names.calls:
                    function = file.names.qualified(call.func) or ""
                    if function.rpartition(".")[2] != parameter.function:
                        continue
                    if (owner, parameter.function) in self._meant(file, function):
                        yield path, with_argument(captured, parameter, call, place, file.names)

    def _mentioned(self, path: str, words: frozenset[str]) -> frozenset[str]:
        """Those of ``words`` that a file contains; it is read again only if there are new ones."""
        asked, found = self._words.get(path, (frozenset[str](), frozenset[str]()))
        if new := words - asked:
            found |= set(re.findall(rf"\b(?:{'|'.join(sorted(new))})\b", self._read(path)))
            self._words[path] = asked | new, found
        return found

    def _reached(self, path: str, names: Iterable[str]) -> set[_Node]:
        """The top-level names that ``names`` in a file stand for, and all that these are built of."""
        found: set[_Node] = set()
        todo = [(path, name) for name in names]
        while todo:
            at, name = todo.pop()
            file = self._file(at)
            for node in self._meant(file, name) if file else ():
                if node not in found:
                    found.add(node)
                    holder = self._file(node[0])
                    todo += [(node[0], read) for read in (holder.read_by(node[1]) if holder else ())]
        return found

    def _meant(self, file: _File, name: str, seen: set[_Node] | None = None) -> set[_Node]:
        """What a dotted name in a file, or its beginning, stands for: a name of the file or of one that it imports.

        ``seen``: what need not be looked up again, since files can import each other.
        """
        head = name.partition(".")[0]
        if head in file.names.module.bindings and head not in file.names.imported:
            return {(file.path, head)}
        seen = set() if seen is None else seen
        if (file.path, name) in seen:
            return set()
        seen.add((file.path, name))
        is_free = head and head not in file.names.imported
        from_stars = [f"{star.name}.{name}" for star in file.names.star_imports] if is_free else []
        found: set[_Node] = set()
        for dotted in [name, *from_stars]:
            splits = (self._defined(file, module, own, seen) for module, own in _splits(dotted))
            found |= next(filter(None, splits), set())
        return found

    def _defined(self, importer: _File, module: str, name: str, seen: set[_Node]) -> set[_Node]:
        """What a name of a module that ``importer`` imports stands for; empty if the workspace does not have it."""
        found: set[_Node] = set()
        for path in self._named(importer.path, module):
            other = self._file(path)
            if other is None:
                continue
            imported = other.names.imported.get(name)
            if imported is not None or (name not in other.names.module.bindings and other.names.star_imports):
                found |= self._meant(other, imported or name, seen)
            elif name in other.names.module.bindings:
                found.add((path, name))
        return found

    def _named(self, importer: str, module: str) -> tuple[str, ...]:
        """The files of the workspace that a module's dotted name can stand for in ``importer``."""
        key = str(PurePath(importer).parent), module
        if key not in self._modules:
            self._modules[key] = tuple(dict.fromkeys(self._found_modules(importer, module)))
        return self._modules[key]

    def _found_modules(self, importer: str, module: str) -> Iterator[str]:
        rest = module.lstrip(".")
        if level := len(module) - len(rest):
            # `from . import nets` makes `..nets` of `nets`, as `from ..nets import …` does.
            levels = (level, level - 1) if rest and level > 1 else (level,)
            folders = [PurePath(importer).parents[up - 1] for up in levels if up <= len(PurePath(importer).parents)]
            yield from self._existing(folder.joinpath(*filter(None, rest.split("."))) for folder in folders)
            return
        top = PurePath(importer).parents[len(package_of(importer))]
        roots = [Path(root, inside) for root in self._folders() for inside in ("", "src")]
        yield from self._existing(PurePath(root).joinpath(*rest.split(".")) for root in (*roots, top))

    def _existing(self, bases: Iterable[PurePath]) -> Iterator[str]:
        for base in bases:
            for path in (f"{base}.py", str(base / "__init__.py")):
                if path in self._marked:
                    yield path

    def _read(self, path: str) -> str:
        """The text of a file; empty if it can't be read. Raises `_Interrupted` if that is wanted."""
        self._go_on()
        return self._texts(path) or ""

    def _go_on(self) -> None:
        if self._interrupted.is_set():
            raise _Interrupted

    def _file(self, path: str) -> _File | None:
        self._go_on()
        if path not in self._files:
            self._files[path] = self._parsed(path)
        return self._files[path]

    def _parsed(self, path: str) -> _File | None:
        text = self._read(path)
        tree = None if is_oversize(text) else tree_of(text)
        if tree is None:
            return None
        try:
            names = Names(tree)
            calls = tuple(capture_calls(names, tree, partial(self._onnx_exports, path)))
        except RecursionError:
            return None
        definitions = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, *Function))}
        return _File(path, names, calls, definitions)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """The modules that a dotted name may begin with, the longest first, each with the name in it that follows."""
    module, _, own = name.rpartition(".")
    while module:
        yield module, own
        module, _, own = module.rpartition(".")


def _is_marked(text: str) -> bool:
    return any(word in text for word in _WORDS) and _MARKS.search(text) is not None
