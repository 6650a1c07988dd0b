"""Transformations and analyses whose interface torch.fx may still change; the modules have torch.fx's names.

They may import everything of fxcore. Each can be read alone; `partition_placement`, `type_rules` and `unification`
serve the others.
"""
