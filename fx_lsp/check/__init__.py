"""The work of ``fx-lsp check``: traces files on disk once and, on request, fixes them.

Start reading at `check_files`. Imports `analysis` and its dependencies, but neither the server nor the command line.
"""
