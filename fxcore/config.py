"""Settings for the whole process, which programs can assign: ``fxcore.config.do_not_emit_stack_traces = True``."""

do_not_emit_stack_traces = False
"""Whether to stop tracers that record stack traces by default (those for quantization) from recording them."""
