"""The exit statuses of the command line, and which of them a check ends with.

0 means that no error or warning was found.
"""

FOUND = 1
"""An error or a warning was found."""
FAILED = 2
"""fx-lsp could not do its work."""
INTERRUPTED = 130
"""The user pressed Ctrl+C; shells use the same number."""


def of_check(*, found: bool, unread: bool) -> int:
    """The exit status of a check that ``found`` errors or warnings. Python files left ``unread`` make it fail."""
    return FAILED if unread else FOUND if found else 0
