"""Imports the user's files: with unsaved text, with stand-ins for missing packages, scripts by their definitions alone.

Imports `processes`, `sandbox` and `building`, the latter for weights that are missing. Begin reading with
`file_loading`.
"""
