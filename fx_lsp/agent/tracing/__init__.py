"""Traces the targets of one request, each in its own process, and reports the outcome of each.

Imports every package of the agent except for `proving` and `serving`. Begin reading with `trace_request`, then
`attempt` and `trace_target`.
"""
