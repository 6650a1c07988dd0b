"""Passes for graphs whose operators all belong to one set (dialect).

This package may import fxcore's top-level modules. Start reading at ``common``, which contains its only pass.
"""
