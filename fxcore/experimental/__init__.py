"""Transformations and analyses whose interface torch.fx may still change; the modules have torch.fx's names.

These modules may import everything in fxcore. Each can be read on its own, except that `partition_placement`,
`type_rules` and `unification` are helpers of others.
"""
