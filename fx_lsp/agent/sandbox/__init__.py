"""Keeps the user's code from harming the system, with an audit hook in Python, and Landlock and seccomp on Linux.

Imports `processes`. Begin reading with `sandbox_entry`.
"""
