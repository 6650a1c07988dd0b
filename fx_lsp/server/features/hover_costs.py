"""Hover: what a model costs, a submodule where `__init__` assigns it, and a call in a ``forward``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Costs, ModuleCosts
from fx_lsp.analysis.costs.cost_counts import CostCounts
from fx_lsp.analysis.costs.cost_texts import counted, flops, limits, size, tensors
from fx_lsp.analysis.graph_descriptions import GraphDescription, GraphDescriptions
from fx_lsp.analysis.results import Results
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.documents.parse import parsed
from fx_lsp.documents.positions import LineIndex

MOST = 3
"""The maximum number of targets or modules to show."""


def model_costs(costs: Costs | None) -> str:
    """What a whole model costs, as a paragraph of Markdown; empty if nothing is known."""
    if costs is None:
        return ""
    if not costs.modules:
        return "\n\n".join(limits(costs))
    root = costs.modules[0]
    frozen = root.parameters.count - root.trainable
    parts = []
    if root.parameters.count:
        parts.append(
            f"**{tensors(root.parameters)}** parameters{f', {counted(frozen)} of them frozen' if frozen else ''}"
        )
    if root.buffers.count:
        parts.append(f"{tensors(root.buffers)} in buffers")
    if root.flops is not None:
        parts.append(f"**{flops(costs, root)}** (a multiply-add is two)")
    told = [*parts, *_memory(root)]
    return "\n\n".join([*([f"{' · '.join(told)}{_given(costs)}."] if told else []), *limits(costs)])


def submodule_costs(results: Results, counts: CostCounts, documents: Documents, path: str, offset: int) -> str:
    """What the submodule costs that is assigned to the attribute at ``offset``; empty if there is none."""
    text, found = documents.text(path), results.get(path)
    assigned = _assigned_at(text, offset) if text and found else None
    if assigned is None or found is None:
        return ""
    owner, attribute = assigned
    lines = [
        _share(costs, module, found.traced[key].target.title)
        for key, costs in counts.in_file(path).items()
        if key in found.traced
        for module in _assigned(costs, found.traced[key].target.symbol, owner, attribute)
    ]
    return "\n\n".join(lines[:MOST])


def call_costs(
    descriptions: GraphDescriptions, counts: CostCounts, documents: Documents, path: str, offset: int
) -> str:
    """What the innermost traced expression around ``offset`` costs; empty if nothing is known."""
    around = [
        (now.end - now.start, description, place)
        for description in descriptions
        for place in {**description.recorded.get(path, {}), **description.calls.get(path, {})}
        if (now := documents.now(place)) and now.start <= offset <= now.end
    ]
    smallest = min((length for length, _, _ in around), default=None)
    lines = [
        line
        for length, description, place in around
        if length == smallest and (costs := counts.of(description.place.path, description.details.target))
        for line in _at(costs, counts, description, path, place)
    ]
    return "\n\n".join(dict.fromkeys(lines[:MOST]))


def _at(costs: Costs, counts: CostCounts, description: GraphDescription, path: str, place: Place) -> Iterator[str]:
    """What the modules cost that an expression calls or, if there are none, its nodes."""
    if calls := description.calls.get(path, {}).get(place, ()):
        modules = {module.path: module for module in costs.modules}
        for called in dict.fromkeys(call.path for call in calls):
            if called in modules:
                times = sum(call.path == called for call in description.details.order)
                yield _share(costs, modules[called], "" if times == 1 else f"all {times} calls")
        return
    count = counts.latest(description.place.path, costs.target)
    by_node = count.by_node(description.report) if count else {}
    names = {node.name for node in description.recorded.get(path, {}).get(place, ())}
    nodes = [by_node[name] for name in names if name in by_node]
    if nodes:
        operations, memory = sum(node.flops for node in nodes), sum(node.bytes for node in nodes)
        # Without a formula for an operator, its FLOPs are not 0 but unknown.
        told = [f"{counted(operations)} FLOPs"] if operations else []
        yield f"{' · '.join([*told, f'{size(memory)} for the result'])}{_given(costs)}."


def _share(costs: Costs, module: ModuleCosts, of: str) -> str:
    """One submodule's costs, and their share of the whole model's."""
    root = costs.modules[0]
    parts = [f"{tensors(module.parameters)} parameters{_percent(module.parameters.count, root.parameters.count)}"]
    if module.flops is not None:
        parts.append(f"{flops(costs, module)}{_percent(module.flops, root.flops)}")
    told = " · ".join([*parts, *_memory(module)])
    return f"`{module.path}` ({module.type}{f', {of}' if of else ''}): {told}{_given(costs)}."


def _percent(part: int, whole: int | None) -> str:
    return f", {100 * part / whole:.3g} %" if part and whole else ""


def _memory(module: ModuleCosts) -> list[str]:
    if module.activations is None or module.peak is None:
        return []
    return [f"{size(module.activations)} of activations, {size(module.peak)} at the peak"]


def _given(costs: Costs) -> str:
    return f", for `{costs.input}`" if costs.input else ""


def _assigned(costs: Costs, symbol: str | None, owner: str, attribute: str) -> list[ModuleCosts]:
    """The submodules that an attribute of the class ``owner`` holds, if it is the target's class or a submodule's."""
    modules = {module.path: module for module in costs.modules}
    if symbol == owner:
        holders = [""]
    else:
        holders = [module.path for module in costs.modules if module.type == owner.rpartition(".")[2]][:1]
    paths = [f"{holder}.{attribute}".lstrip(".") for holder in holders]
    return [modules[path] for path in paths if path in modules]


def _assigned_at(text: str, offset: int) -> tuple[str, str] | None:
    """The qualified name of the class, and the attribute of ``self`` that is assigned to at ``offset`` in its body."""
    tree = parsed(text)
    return next(_assignments_at(tree, "", LineIndex(text), offset), None) if tree else None


def _assignments_at(parent: ast.AST, owner: str, lines: LineIndex, offset: int) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.ClassDef):
            yield from _assignments_at(node, f"{owner}.{node.name}".lstrip("."), lines, offset)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            start = lines.offset_of_python(node.lineno, node.col_offset)
            end = lines.offset_of_python(node.end_lineno or node.lineno, node.end_col_offset or 0)
            if owner and start <= offset <= end and isinstance(node.value, ast.Name) and node.value.id == "self":
                yield owner, node.attr
        else:
            yield from _assignments_at(node, owner, lines, offset)
