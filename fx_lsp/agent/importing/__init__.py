"""Imports the user's files: with unsaved text, stand-ins for missing packages, and only the definitions of scripts.

Imports the packages `processes`, `sandbox`, `missing`, `inventing` and `known_packages`. Begin reading
with `file_loading`.
"""
