"""Which parts of missing packages count as used."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.inventing.argument_synthesis import CannotInvent, invent_arguments
from fx_lsp.agent.missing.missing_uses import forget_uses, looking, note_use, used_stand_in

MissingBase: Any = StandIn("lightning.Missing")


class Unbuildable(MissingBase, nn.Module):  # type: ignore[misc]
    """The statement that fails sets an attribute, which a look at the statement reads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.metrics, self.rest = torch.zeros(width)


def test_what_is_only_looked_at_is_not_used() -> None:
    forget_uses()
    with looking():
        note_use("missing.looked_at")
    assert used_stand_in() is None
    note_use("missing.used")
    with looking():
        note_use("missing.looked_at")
    assert used_stand_in() == "missing.used"


def test_what_a_failing_statement_only_sets_is_not_used() -> None:
    forget_uses()
    with pytest.raises(CannotInvent):
        invent_arguments(Unbuildable, globals(), lambda root: None, on_meta=True)
    assert used_stand_in() is None
