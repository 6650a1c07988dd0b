"""Traces the targets of one request, each in a process of its own, and reports what came of each.

Imports every room but `proving` and `serving`. Begin reading with `trace_request`, then `attempt` and `trace_target`.
"""
