"""Decides what to trace and when, and keeps the results, findings, proofs of fixes and descriptions of graphs.

Nothing here depends on a client. Start reading at `engine`, which puts everything together. Imports `agent.messages`,
documents, workspace, settings, targets, rules, fixes and the supervisor.
"""
