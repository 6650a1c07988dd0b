"""What to trace when, and what is known of it: results, findings, tried fixes, descriptions of graphs; no client.

Start reading at `engine`, which puts everything together. Imports `agent.messages`, documents, workspace, settings,
targets, rules, fixes and the supervisor.
"""
