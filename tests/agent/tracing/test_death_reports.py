import signal

import pytest

from fx_lsp.agent.tracing.death_reports import describe_exit


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exited with status 0"),
        (3, "exited with status 3"),
        (-signal.SIGSEGV, "was terminated by SIGSEGV"),
        (-1000, "was terminated by signal 1000"),
        (0xC0000005, "crashed with Windows' status 0xC0000005"),
    ],
)
def test_how_a_process_ended(status: int, words: str) -> None:
    assert describe_exit(status) == words
