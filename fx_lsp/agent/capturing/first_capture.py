"""What torch does once in a process, before and during the first capture."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

MODULES = ("torch.export", "torch._dynamo", "torch._dynamo.backends.debugging")
"""torch imports these for the first capture, which takes more than a second."""


def capture_sample() -> None:
    """Export a sample, so that the children of this process need not repeat what torch does only once.

    When it first needs them, torch imports further modules, such as parts of sympy, which takes longer than to export a
    small program. All tensors of the sample are fake, so that no operation is run: it could start threads, and a
    process with threads must not fork. Nothing is compiled: whoever uses torch.compile, also by `torch.cond`, changes
    torch for the rest of the process, so that distributions, for example, no longer check their arguments.
    """
    from fx_lsp.agent.capturing.captures import why_not_checked

    if why_not_checked() is None:  # in older versions, the imports may fail, too
        with suppress(Exception):  # the same error will stop the children, which report it
            _export_sample()


def _export_sample() -> None:
    import torch

    # These are not used here, but by the children.
    from fx_lsp.agent.capturing import captured_graph, further_export_failures, graph_breaks, recompilations  # noqa: F401
    from fx_lsp.agent.capturing.compile_capture import capture_by_compile  # noqa: F401
    from fx_lsp.agent.capturing.export_capture import capture_by_export
    from fx_lsp.agent.capturing.fake_weights import fake_input, fake_weights
    from fx_lsp.agent.capturing.torch_internals import fake_mode, silence
    from fx_lsp.agent.running.observation import Input

    class Sample(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> Any:
            x = super().forward(x)
            number = x.argmax().item()
            torch._check(number < 2)  # type: ignore[no-untyped-call]
            return x + number

    with silence():
        with torch.device("meta"):
            sample, given = Sample(1, 2), Input((torch.empty(2, 1),), {})
        mode = fake_mode()
        with fake_weights(sample, mode):
            capture_by_export(sample, fake_input(mode, given))
