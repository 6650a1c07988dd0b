"""What makes tracing work: the tracer's base class, trace sessions, arguments, signatures, and temporary patches.

It may import fxcore's top modules, `fxcore.source`, `fxcore.failures` and nodes. Start reading at `fxcore.tracer`,
whose `Tracer.trace` uses all of it.
"""
