"""Turns graphs into text: generated source with its line map and comments, tables, and modules on disk.

This package may import `fxcore.nodes` and fxcore's top-level modules (it needs the tracer, because loading a module
from disk traces it). Start reading at `fxcore.codegen`, then `emitter`.
"""
