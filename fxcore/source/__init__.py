"""Locations in the user's source: frames and instructions, and the exact range of text of each.

This package may import only the standard library and torch. Start reading at `spans`; this package exports its names.
"""

from fxcore.source.spans import (
    Frame,
    Place,
    SourceSpan,
    definition_span,
    disown,
    is_user_file,
    return_span,
    span_at,
    stack_places,
    traceback_places,
    user_frames,
    user_place,
)

__all__ = [
    "Frame",
    "Place",
    "SourceSpan",
    "definition_span",
    "disown",
    "is_user_file",
    "return_span",
    "span_at",
    "stack_places",
    "traceback_places",
    "user_frames",
    "user_place",
]
