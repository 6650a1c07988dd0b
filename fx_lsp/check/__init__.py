"""The work of ``fx-lsp check``: traces files on disk once, and fixes them if asked.

Start reading at `check_files`. Imports `analysis` and its dependencies, but no client and nothing of the command line.
"""
