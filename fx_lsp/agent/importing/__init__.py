"""Imports the user's files: with unsaved text, stand-ins for missing packages, and only the definitions of scripts.

Imports the packages `processes`, `sandbox` and `building`, the last for missing weights and modules. Begin reading with
`file_loading`.
"""
