"""Decides what to trace when, and keeps the results, findings, proofs of fixes and descriptions of graphs.

Nothing here knows a client. Start reading at `engine`, which puts everything together. Imports `agent.messages`,
documents, workspace, settings, targets, rules, fixes and the supervisor.
"""
