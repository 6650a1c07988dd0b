"""NumPy values among the arguments of nodes, whose text generated code can evaluate only if it imports NumPy."""

from __future__ import annotations


def numpy_text(value: object) -> str:
    """The text of a NumPy value, if that mentions ``np``: ``np.float64(8.0)``; empty for any other value.

    NumPy 2 writes its values like this, and torch.fx writes their text into generated code, which has no ``np``.
    """
    if type(value).__module__ != "numpy" or not hasattr(value, "dtype"):
        return ""
    text = repr(value)
    return text if text.startswith("np.") else ""
