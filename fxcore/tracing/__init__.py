"""What makes tracing work: the tracer's base class, trace sessions, arguments, signatures, and temporary patches.

This package may import fxcore's top-level modules, `fxcore.source`, `fxcore.failures` and `fxcore.nodes`. Start
reading at `fxcore.tracer`, whose `Tracer.trace` uses all of it.
"""
