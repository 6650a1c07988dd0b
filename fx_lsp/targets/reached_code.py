"""Finds the code of a file that a target can run, so that an edit of other code need not trace the target again.

Code that only runs when it is called, i.e. the body of a function or method, is reached if something that is reached
mentions the name of its function or class: as a name, as an attribute, or in a string. What importing the file runs is
reached by all targets. Where a program can find a class without mentioning it, nothing is known.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from fx_lsp.agent.messages import Recipe, Target
from fx_lsp.documents.parse import parsed

_WORD = re.compile(r"\w+")

_FINDS_UNNAMED = re.compile(
    r"\b(global|globals|locals|vars|eval|exec|__import__|importlib|inspect|gc|pickle|jit|_getframe|currentframe|metaclass|"
    r"hydra|instantiate|_target_|locate|import_string|torch\s*\.\s*load|"
    r"__\w*(globals|dict|code|main|subclass\w*|set_name|class_getitem|prepare|mro_entries|getattr|build_class)__|"
    r"sys\s*\.\s*modules|from\s+sys\s+import|import\s+sys\s+as)\b"
)
"""What a program may use to find, run or read code whose name it does not mention."""

_FINDS_MODULES = re.compile(
    r"\b(importlib|__import__|import_module|sys\s*\.\s*modules|from\s+sys\s+import|import\s+sys\s+as|__\w*subclass\w*__|"
    r"__globals__|_getframe|currentframe|gc|inspect|pickle|hydra|instantiate|locate|import_string|resolve_name|runpy)\b"
)
"""What another file may use to find the code of a file that it does not import."""

_DEVICES = re.compile(r"cuda|hip|mps|xpu|\bto\(")
"""What may make fxcore redirect accelerators, in all of a program, even if it stands in code that does not run."""

_PLAIN_DECORATORS = frozenset({"staticmethod", "classmethod", "property"})

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def reached_code(text: str, targets: Sequence[Target]) -> dict[str, str]:
    """By the key of a target: the text of the file, without bodies of functions that the target can't reach.

    Targets of which one can hold another as a part have the same text, since they are traced together. A target is left
    out if fx-lsp can't tell what it reaches, or what another target reaches that it is traced together with.
    """
    tree = parsed(text)
    if tree is None or _FINDS_UNNAMED.search(text):
        return {}
    definitions = _Definitions(tree)
    reached = {target.key: definitions.reached(target) for target in targets}
    lines = text.splitlines(keepends=True)
    if len(lines) != text.count("\n") + (not text.endswith("\n")):  # Python counts other lines
        return {}
    kept = {}
    for together in _traced_together(targets, reached):
        names = [reached[target.key] for target in together]
        if all(name is not None for name in names):
            shown = {line for target in together for line in _lines_of_recipes(target)}
            code = definitions.without_bodies(lines, frozenset().union(*(name or () for name in names)), shown)
            kept.update(dict.fromkeys((target.key for target in together), code))
    return kept


def may_find(text: str, module: Sequence[str]) -> bool:
    """Whether a file with this text may find the code of a module without being given it.

    ``module`` has the names of the packages that contain the module, then its own name. The file may import the module,
    or one of the packages: the module is an attribute of that once something has imported it.
    """
    joined = text.replace("\\\n", " ")
    statements = re.finditer(r"^[^\n#]*\b(?:from|import)\b(?:[^\n(]*\([^)]*\)|[^\n]*)", joined, re.MULTILINE)
    *packages, name = map(re.escape, module)
    bound = rf"|\bimport\b.*\b({'|'.join(packages)})\b" if packages else ""
    mentions = re.compile(rf"\b{name}\b|\*{bound}", re.DOTALL)
    is_said = any(mentions.search(statement[0]) for statement in statements)
    return is_said or _FINDS_MODULES.search(text) is not None


@dataclass(frozen=True)
class _Definition:
    """A function, class or variable at the top level of a file."""

    mentions: frozenset[str]
    bodies: tuple[tuple[int, int], ...]
    """The first and last lines, from 1, of the function bodies in it."""


class _Definitions:
    """The definitions of a file, and which of them importing the file hands to other code."""

    def __init__(self, tree: ast.Module) -> None:
        others = Counter(_names_bound(tree))
        self._of_torch = frozenset(name for name in _names_of_torch(tree) if not others[name])
        self._by_name: dict[str, list[_Definition]] = defaultdict(list)
        self._plain_classes = {"object"}
        """The classes so far that do not learn of their subclasses."""
        self._bound_once = {name for name, times in others.items() if times == 1}
        handed_out: set[str] = set()
        for statement in tree.body:
            handed_out |= self._add(statement)
        self._handed_out = self._closure(handed_out)

    def reached(self, target: Target) -> frozenset[str] | None:
        """The names that a target can reach; None if other files say how to build it."""
        recipes = (target.recipe, *target.fallbacks, *target.hosts)
        if any(recipe.file for recipe in recipes):
            return None
        words = {word for source in _sources(recipes) for word in _WORD.findall(source)}
        symbol = (target.symbol or "").partition(".")[0]
        return self._closure({*words, symbol}) | self._handed_out

    def without_bodies(self, lines: Sequence[str], names: frozenset[str], shown: Set[int]) -> str:
        """The text without the function bodies of definitions not in ``names``, except for the lines ``shown``.

        All lines keep their numbers.
        """
        left = list(lines)
        for name, definitions in self._by_name.items():
            for first, last in (body for item in definitions if name not in names for body in item.bodies):
                if not _DEVICES.search("".join(lines[first - 1 : last])):
                    left[first - 1 : last] = [
                        lines[number - 1] if number in shown else "\n" for number in range(first, last + 1)
                    ]
        return "".join(left)

    def _add(self, statement: ast.stmt) -> set[str]:
        """Record what a statement defines; return the names that it hands to code that can do anything with them."""
        match statement:
            case ast.ClassDef():
                handed_out = self._handed_out_by_class(statement)
                bodies = [item for item in statement.body if isinstance(item, _Function)]
                self._define(statement.name, statement, bodies)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                handed_out = self._handed_out_by_function(statement)
                handed_out |= {statement.name} if statement.decorator_list else set()
                self._define(statement.name, statement, [statement])
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                handed_out = self._handed_out_by_values([statement.value, getattr(statement, "annotation", None)])
                self._define(name, statement, [])
            case _:
                handed_out = set(_mentions(statement))
        return handed_out

    def _define(self, name: str, node: ast.stmt, functions: Iterable[ast.FunctionDef | ast.AsyncFunctionDef]) -> None:
        bodies = tuple(_body(function) for function in functions)
        self._by_name[name].append(_Definition(frozenset(_mentions(node)), bodies))

    def _handed_out_by_class(self, node: ast.ClassDef) -> set[str]:
        found: set[str] = set()
        if node.decorator_list or node.keywords or not all(map(self._is_plain_base, node.bases)):
            found |= {node.name, *_mentions(*node.decorator_list, *node.bases, *node.keywords)}
        elif node.name in self._bound_once:
            self._plain_classes.add(node.name)
        for item in node.body:
            if isinstance(item, _Function):
                inner = self._handed_out_by_function(item)
                is_plain = all(map(self._is_plain_decorator, item.decorator_list))
            elif isinstance(item, ast.Assign | ast.AnnAssign):
                inner, is_plain = self._handed_out_by_values([item.value]), True
                is_plain = not inner or item.value is None
                inner |= self._handed_out_by_values([getattr(item, "annotation", None)])
            else:
                is_plain = isinstance(item, ast.Pass) or (
                    isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
                )
                inner = set() if is_plain else set(_mentions(item))
            found |= inner if is_plain else {node.name, *inner}
        return found

    def _handed_out_by_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
        plain = all(map(self._is_plain_decorator, node.decorator_list))
        decorators = set() if plain else set(_mentions(*node.decorator_list))
        arguments = [item for item in ast.walk(node.args) if isinstance(item, ast.arg)]
        annotations = [*(argument.annotation for argument in arguments), node.returns]
        return decorators | self._handed_out_by_values([*node.args.defaults, *node.args.kw_defaults, *annotations])

    def _handed_out_by_values(self, values: Iterable[ast.expr | None]) -> set[str]:
        return {name for value in values if value and not self._is_inert(value) for name in _mentions(value)}

    def _is_inert(self, value: ast.expr) -> bool:
        """Whether evaluating an expression runs no code of the file, nor hands any to other code."""
        match value:
            case ast.Name() | ast.Constant() | ast.Lambda():
                return True
            case ast.Attribute():
                return self._is_torchs(value)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return all(map(self._is_inert, items))
            case ast.Dict(keys=keys, values=values):
                return all(key is not None and self._is_inert(key) for key in keys) and all(map(self._is_inert, values))
        return all(isinstance(node, _ARITHMETIC) for node in ast.walk(value))

    def _is_plain_base(self, base: ast.expr) -> bool:
        """Whether a base class, and those that it is derived from, do not learn of their subclasses."""
        return (isinstance(base, ast.Name) and base.id in self._plain_classes) or self._is_torchs(base)

    def _is_plain_decorator(self, decorator: ast.expr) -> bool:
        """Whether a method's decorator does not keep, run or read the method while the file is imported."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr in ("setter", "getter", "deleter"):
            return True
        return (isinstance(called, ast.Name) and called.id in _PLAIN_DECORATORS) or self._is_torchs(called)

    def _is_torchs(self, expression: ast.expr) -> bool:
        while isinstance(expression, ast.Attribute):
            expression = expression.value
        return isinstance(expression, ast.Name) and expression.id in self._of_torch

    def _closure(self, names: Iterable[str]) -> frozenset[str]:
        """The definitions that ``names`` are, and those that they mention directly or indirectly."""
        found: set[str] = set()
        waiting = [name for name in names if name in self._by_name]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [other for item in self._by_name[name] for other in item.mentions if other in self._by_name]
        return frozenset(found)


_ARITHMETIC = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)


def _names_of_torch(tree: ast.Module) -> Iterator[str]:
    """The names that import statements at the top level bind to torch, to its modules, and to what these contain."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            for alias in item.names:
                if _is_torch(alias.name):
                    yield alias.asname or "torch"
        elif isinstance(item, ast.ImportFrom) and not item.level and _is_torch(item.module or ""):
            yield from (alias.asname or alias.name for alias in item.names)


def _names_bound(tree: ast.Module) -> Iterator[str]:
    """The names that a file binds in any scope, once for each time, other than to torch and what it contains."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Import(names=names):
                others = [alias for alias in names if not _is_torch(alias.name)]
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in others)
            case ast.ImportFrom(module=module, names=names, level=level) if level or not _is_torch(module or ""):
                yield from (alias.asname or alias.name for alias in names)


def _is_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def _mentions(*nodes: ast.AST) -> Iterator[str]:
    """Every word that stands in ``nodes`` as a name, as an attribute or in a string."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)):
                yield from _WORD.findall(text)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """The first and last line of a function's body, without a line that its head may stand on."""
    first = function.body[0]
    decorators = getattr(first, "decorator_list", [])
    start = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    parts = [*ast.walk(function.args), *([function.returns] if function.returns else [])]
    head = max([function.lineno, *(getattr(part, "end_lineno", 0) or 0 for part in parts)])
    return max(start, head + 1), function.end_lineno or start


def _lines_of_recipes(target: Target) -> Iterator[int]:
    """The lines that show how to build a target: its report says where they are."""
    for recipe in (target.recipe, *target.fallbacks, *target.hosts):
        yield from range(recipe.root.line, recipe.root.line + recipe.root.source.count("\n") + 1)


def _sources(recipes: Iterable[Recipe]) -> Iterator[str]:
    for recipe in recipes:
        snippets = (recipe.root, *recipe.setup, recipe.concrete_args, recipe.tracer, recipe.leaves, recipe.inputs)
        yield from (snippet.source for snippet in snippets if snippet)


def _traced_together(targets: Sequence[Target], reached: Mapping[str, frozenset[str] | None]) -> list[list[Target]]:
    """The groups of targets of which one can hold another as a part, directly or through others."""
    groups: dict[str, list[Target]] = {target.key: [target] for target in targets}
    for one in targets:
        for other in targets:
            names = reached[one.key]
            together = names is None or (other.symbol or "").partition(".")[0] in names
            if together and groups[one.key] is not groups[other.key]:
                joined = groups[one.key] + groups[other.key]
                groups.update(dict.fromkeys((target.key for target in joined), joined))
    return list({id(group): group for group in groups.values()}.values())
