"""What is hidden from the garbage collector can still be found by a program that asks for it."""

from __future__ import annotations

import gc
from unittest import mock

from fx_lsp.agent.processes.frozen_objects import freeze


def test_a_program_finds_what_refers_to_a_frozen_object() -> None:
    with mock.patch.object(gc, "get_referrers", gc.get_referrers):
        freeze()
        try:
            code = test_a_program_finds_what_refers_to_a_frozen_object.__code__
            assert test_a_program_finds_what_refers_to_a_frozen_object in gc.get_referrers(code)
            assert gc.get_freeze_count() > 0
        finally:
            gc.unfreeze()
