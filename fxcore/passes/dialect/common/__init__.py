"""Passes for any set of operators.

This package may import fxcore's top-level modules and `fxcore.passes.infra`. Start reading at `cse_pass`.
"""
