"""Runs a program, and records its values, what it leaves behind, and its nodes' shapes.

Imports `building`, `inventing` and `missing`. Begin reading with `observation`.
"""
