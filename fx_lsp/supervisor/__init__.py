"""Starts, feeds and restarts agents, caches their answers, and decides which Python each one runs in.

Start reading at `supervised_agent`. Imports `agent.messages`, `agent.wire`, and the workspace's digests and cache.
"""
