"""Runs a program, and records its values, what it leaves behind, and its nodes' shapes.

Imports `building` and `missing`. Begin reading with `observation`.
"""
