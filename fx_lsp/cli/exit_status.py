"""The exit statuses of the command line. 0 means that no error or warning was found."""

FOUND = 1
"""An error or a warning was found."""
FAILED = 2
"""fx-lsp could not do its work."""
INTERRUPTED = 130
"""The user pressed Ctrl+C; shells use the same number."""
