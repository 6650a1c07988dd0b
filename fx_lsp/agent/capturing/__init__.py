"""Captures other than symbolic tracing: whether ``torch.export`` and ``torch.compile`` can capture a program.

Imports `processes`, `running`, ``fxcore.source`` and ``fxcore.explore``. Begin reading with `captures`; there is one
file for each capture.
"""
