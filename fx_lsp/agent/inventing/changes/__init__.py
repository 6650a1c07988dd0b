"""Decides what to change about invented arguments after the program has raised an error.

Begin with `changes_after`.
"""
