"""Where things happen in the user's text: frames, instructions, and the exact range of source of each.

It may import only the standard library and torch. Start reading at `spans`, whose names this package exports.
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
