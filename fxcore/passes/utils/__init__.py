"""Utilities for passes: matching subgraphs, lifting them out as modules, and fusing them.

This package may import fxcore's top-level modules, `fxcore.passes.tools_common` and `topology`. Start reading at
`matcher_utils`.
"""

from fxcore.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
