"""What `fxcore.node.Node` and `fxcore.graph.Graph` are made of: names, text, the list of nodes, checks, pickling.

It may import `fxcore.node` and `fxcore.torch_compat`, and no other folder. Start reading at `node_list`,
then `node_builder`.
"""
