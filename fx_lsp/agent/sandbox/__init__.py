"""Keeps the user's code from harming the system, by an audit hook in Python and by Landlock and seccomp in Linux.

Imports `processes`. Begin reading with `sandbox_entry`.
"""
