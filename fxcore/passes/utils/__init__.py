"""What passes share: subgraphs lifted out as modules, matched, and fused."""

from fxcore.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
