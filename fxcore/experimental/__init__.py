"""Transformations and analyses whose interface torch.fx may still change; the public modules have torch.fx's names.

These modules may import everything in fxcore. Each can be read on its own, except `mkldnn_layout`,
`partition_placement`, `type_rules` and `unification`, which are helpers of other modules.
"""
