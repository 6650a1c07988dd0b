"""Invents arguments for a class that no code shows how to build, by building it again and again.

Imports `missing`. Begin reading with `argument_synthesis`.
"""
