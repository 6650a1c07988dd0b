"""The parts of `fxcore.node.Node` and `fxcore.graph.Graph`: names, text, the list of nodes, checks, pickling.

This package may import `fxcore.node` and `fxcore.torch_compat`, and no other package. Start reading at `node_list`,
then `node_builder`.
"""
