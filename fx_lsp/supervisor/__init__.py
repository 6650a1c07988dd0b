"""Starts and restarts agents (the processes that trace), sends them requests, caches their answers, and chooses the
Python that each of them runs in.

Start reading at `supervised_agent`. Imports `agent.messages`, `agent.wire`, and the workspace's digests and cache.
"""
