"""Starts child processes, ends those that take too long, and limits their memory, priority and folder.

Imports no other room, only `wire` and `traceback_steps`. Begin reading with `watchdog`, then `children`.
"""
