"""Passes for graphs that use the operators of one set only. They may import fxcore's top modules.

Start reading at ``common``, which has the only one so far.
"""
