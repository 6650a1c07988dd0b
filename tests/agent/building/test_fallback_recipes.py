"""A recipe that does not work leaves the file as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch

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


LOADS_MISSING_WEIGHTS = """
import torch

def load_weights(path):  # torch's own would be replaced for all other tests, too
    raise FileNotFoundError(path)

def load_pretrained(net):
    net.load_state_dict(load_weights("no_such_file.pth"))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        load_pretrained(self)
"""


def test_that_building_was_tried_in_vain_changes_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt looks for a file; the second build needs only one."""
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)  # it will be replaced
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(LOADS_MISSING_WEIGHTS, namespace)
    target = Target("class:Net", "Net", Span("net.py", 1, 0, 1, 3), Recipe(Snippet("Net()", 1)))
    first, again = (build_target(target, "net.py", namespace, (), on_meta=False).root for _ in range(2))
    assert torch.equal(first.layer.weight, again.layer.weight)
