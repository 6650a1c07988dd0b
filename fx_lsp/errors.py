"""The error that ends a command; its message is shown to the user."""


class CannotCheck(Exception):
    """``fx-lsp check`` cannot do its work; the message tells the user why, in one sentence."""
