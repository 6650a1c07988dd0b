"""Utilities for passes: matching subgraphs, lifting them out as modules, and fusing them.

This package may import `fxcore.passes.tools_common`, `fxcore.passes.topology`, `fxcore.nodes` and fxcore's top-level
modules. Start reading at `matcher_utils`.
"""

from fxcore.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
