"""Settings of the process, which programs change: ``fxcore.config.do_not_emit_stack_traces = True``."""

do_not_emit_stack_traces = False
"""For tracers that by themselves record stack traces (those of quantization): whether they shall not."""
