"""What is said of the places at which torch.compile breaks the graph."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Failure
from fx_lsp.rules.graph_break import message

EITHER = "This function is either a Python builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            "Skipped\n  Explanation: Not known.\n  Hint: Do this.\n  Hint: Or that.\nvisit site/gb/gb0007.html",
            "Not known. Do this. (GB0007)",
        ),
        ("Skipped\n  Explanation: Not known.\n  Hint: Please file an issue.\n  Hint: Do this.", "Not known. Do this."),
        (
            "Skipped\n  Explanation: Not known.\n  Hint: It may be possible to write Dynamo tracing rules for this. "
            "Please report an issue to PyTorch if you encounter this graph break often.",
            "Not known.",
        ),
        (f"Skipped\n  Explanation: `f` is unknown. {EITHER} (perhaps created with pybind).", "`f` is unknown."),
        ("Missing tp_iternext", "Missing tp_iternext"),
        (
            "Could not guard on data-dependent expression u0 > 1 (unhinted: u0 > 1).",
            "It needs the values in a tensor, which are not known while torch compiles.",
        ),
        (
            "Skipped\n  Explanation: Dynamo can't trace `_LegacyVariableBase.__new__`.",
            "`torch.autograd.Variable` has not been needed since torch 0.4: use the tensor or `x.detach()`.",
        ),
    ],
)
def test_the_reason_is_torchs_without_what_helps_nobody(error: str, reason: str) -> None:
    assert message(Failure("graph-break", error), "f(x)") == f"`f(x)` breaks the graph of torch.compile. {reason}"
