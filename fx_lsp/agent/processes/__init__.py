"""Starts child processes, ends those that take too long, and sets their limits, priority and scratch folder.

Imports no other package of the agent, only the modules `wire` and `traceback_steps`. Begin reading with `watchdog`,
then `children`.
"""
