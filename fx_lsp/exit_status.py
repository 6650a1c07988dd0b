"""The exit statuses of the command line."""

FOUND = 1
"""An error or a warning was found."""
FAILED = 2
"""It could not do its work."""
INTERRUPTED = 130
"""As shells say it of a program that Ctrl+C ended."""


class CannotCheck(Exception):
    """Why nothing can be traced, in a sentence for the person who asked for it."""
