"""Passes for graphs whose operators all belong to one set (dialect).

This package may import fxcore's top-level modules and `fxcore.passes.infra`. Start reading at ``common``, which
contains the only pass.
"""
