"""Finds inputs that a program accepts, by running it.

Imports `running`, `inventing`, `building` and `missing`. Begin reading with `input_search`.
"""
