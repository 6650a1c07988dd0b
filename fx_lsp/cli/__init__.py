"""The command line: its arguments, its output formats, its exit statuses. Imports ``check`` and, to serve, ``server``.

Begin reading at `main`.
"""
