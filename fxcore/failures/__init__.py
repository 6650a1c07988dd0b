"""The ways in which a trace can fail: one exception class for each, with the place and the cause.

This package may import `fxcore.source` and `fxcore.node`. Start reading at `failures`, whose names it exports.
"""

from fxcore.failures.failures import (
    ArgumentFailure,
    BackwardHookFailure,
    CallBindingFailure,
    ContainmentFailure,
    ControlFlowFailure,
    ConversionFailure,
    DictKeyFailure,
    FailureKind,
    HigherOrderFailure,
    ItemAssignmentFailure,
    IterationFailure,
    LenFailure,
    NotAParameterFailure,
    NotASubmoduleFailure,
    TraceError,
    TraceFailure,
    TwoTracersFailure,
    as_failure,
)

__all__ = [
    "ArgumentFailure",
    "BackwardHookFailure",
    "CallBindingFailure",
    "ContainmentFailure",
    "ControlFlowFailure",
    "ConversionFailure",
    "DictKeyFailure",
    "FailureKind",
    "HigherOrderFailure",
    "ItemAssignmentFailure",
    "IterationFailure",
    "LenFailure",
    "NotAParameterFailure",
    "NotASubmoduleFailure",
    "TraceError",
    "TraceFailure",
    "TwoTracersFailure",
    "as_failure",
]
