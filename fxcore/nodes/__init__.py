"""The implementation of `fxcore.node.Node` and `fxcore.graph.Graph`: names, text, list of nodes, checks, pickling.

Of fxcore, this package may import only `fxcore.node`, `fxcore._pytree` and `fxcore.torch_compat`. Start reading at
`node_list`, then `node_builder`.
"""
