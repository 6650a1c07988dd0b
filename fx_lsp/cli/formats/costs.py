"""For people to read: a table for each target that can be traced, of what it and its submodules cost."""

from __future__ import annotations

from collections.abc import Iterator

from fx_lsp.agent.messages import Costs, ModuleCosts
from fx_lsp.analysis.costs.cost_texts import counted, flops, limits, size, tensors
from fx_lsp.analysis.results import Traced
from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import line_and_column, spot

DEEPEST = 2
"""How deep the submodules are that have a row."""

_COLUMNS = ("", "parameters", "FLOPs", "activations", "peak")

_NOTHING = "No model was found that can be traced."


def render(checked: Checked) -> str:
    """A table for each target."""
    parts = list(_parts(checked))
    return "\n\n".join(parts) if parts else _NOTHING


def _parts(checked: Checked) -> Iterator[str]:
    for path, by_key in checked.costs.items():
        for key, traced in checked.results[path].traced.items():
            if key in by_key:
                place = spot(traced.place, checked.documents)
                line, _ = line_and_column(place.lines, place.start)
                yield f"{place.name}:{line}: {_table(traced, by_key[key])}"


def _table(traced: Traced, costs: Costs) -> str:
    title = f"{traced.target.title}, {costs.input}" if costs.input else traced.target.title
    if not costs.modules:
        return "\n".join([title, *limits(costs)])
    root, *others = costs.modules
    rows = [_COLUMNS, _row(root.type, root)]
    rows += [_row(f"{'  ' * depth}{name}", module) for depth, name, module in _shown(others)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    return "\n".join([title, *lines, *_totals(costs, root), *limits(costs)])


def _shown(modules: list[ModuleCosts]) -> Iterator[tuple[int, str, ModuleCosts]]:
    """The modules with a row: how deep they are, and the last part of their paths."""
    for module in modules:
        depth = module.path.count(".") + 1
        if depth <= DEEPEST:
            yield depth, module.path.rpartition(".")[2], module


def _row(name: str, module: ModuleCosts) -> tuple[str, ...]:
    operations = "" if module.flops is None else counted(module.flops)
    memory = ("" if number is None else size(number) for number in (module.activations, module.peak))
    return name, counted(module.parameters.count), operations, *memory


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    name, *numbers = row
    first, *others = widths
    cells = [f"{name:<{first}}", *(f"{cell:>{width}}" for cell, width in zip(numbers, others, strict=True))]
    return "  ".join(cells).rstrip()


def _totals(costs: Costs, root: ModuleCosts) -> Iterator[str]:
    yield f"Parameters: {tensors(root.parameters)}, {counted(root.trainable)} of them trainable."
    if root.buffers.count:
        yield f"Buffers: {tensors(root.buffers)}."
    if operations := flops(costs, root):
        yield f"{operations[0].upper()}{operations[1:]}; a multiplication and the addition of its result count as two."
