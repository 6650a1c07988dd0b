"""Reads what the checks of a program ask of its arguments: assertions, and conditions under which it raises an error.

Begin with `failed_checks`.
"""
