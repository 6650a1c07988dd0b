"""Keeps the user's code from harming the system: an audit hook in Python, and Landlock and seccomp below it.

Imports `processes`. Begin reading with `sandbox_entry`.
"""
