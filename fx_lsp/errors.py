"""The error that ends a command; its message is shown to the user."""


class CannotCheck(Exception):
    """Nothing can be traced; the message explains to the user why, in one sentence."""
