"""Runs the agent as a process: its start, its main loop, and the services that answer requests in other processes.

Imports every other package of the agent. Begin reading with `agent_main`, then `fork_service`.
"""
