"""The command line: its arguments, output formats and exit statuses. Imports ``check`` and, to serve, ``server``.

Begin reading at `main`.
"""
