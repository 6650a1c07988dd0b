"""Finds inputs that a program accepts, runs it on them, and records its values and the shapes of its nodes.

Imports `building`. Begin reading with `observation`, then `input_search`.
"""
