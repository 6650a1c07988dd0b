"""A recipe that does not work leaves the file as it was."""

from __future__ import annotations

from typing import Any

from fx_lsp.agent.building.build import build_target
from fx_lsp.agent.messages import Recipe, Snippet, Span, Target

TEXT = """
import torch

class scale(torch.nn.Module):
    pass

class Net(torch.nn.Module):
    def __init__(self, scales=(1, 2)):
        super().__init__()
        self.scales = torch.nn.ModuleList(scale() for _ in scales)
"""


def test_what_a_failed_recipe_has_set_up_does_not_hide_a_class_of_the_file() -> None:
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(TEXT, namespace)
    first = Recipe(Snippet("Net(scale)", 1), (Snippet("scale = 25", 1), Snippet("unit = 1", 1)))
    target = Target("Net", "Net", Span("net.py", 1, 0, 1, 1), first, fallbacks=(Recipe(Snippet("Net()", 1)),))
    built = build_target(target, "net.py", namespace, (), on_meta=False)
    assert len(built.root.scales) == 2
    assert "unit" not in namespace
