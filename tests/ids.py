"""Names of parametrized cases that are the same in every process, as pytest-xdist requires."""

import re


def same_everywhere(value: object) -> str:
    """``str(value)`` without addresses in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
