"""Finds inputs that a program accepts, runs the program on them, and records its values and its nodes' shapes.

Imports `building`, `inventing` and `missing`. Begin reading with `observation`, then `input_search`.
"""
