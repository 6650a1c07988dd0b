"""Builds what a recipe describes, if necessary with invented arguments.

Imports `inventing` and `missing`, the modules `messages` and `traceback_steps`, and fxcore. Begin reading with `build`.
"""
