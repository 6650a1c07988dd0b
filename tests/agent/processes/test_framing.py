"""Messages on the wire."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_lsp.agent.messages import Limits, Recipe, Snippet, Span, Target, Trace
from fx_lsp.agent.processes.framing import Frames
from fx_lsp.agent.proving.proof_memory import Remembered
from fx_lsp.agent.wire import HEADER, LARGEST, decode, encode


def test_a_message_survives_encoding_and_decoding() -> None:
    recipe = Recipe(Snippet("Net('é😋')", 3), (Snippet("n = 3", 2),), Snippet("{}", 4))
    target = Target("key", "Net", Span("/é/net.py", 3, 0, 3, 4), recipe, "explicit", "Net")
    trace = Trace("/é/net.py", (target,), {"/é/net.py": "text\r\n"}, ("/é",), Limits(1.5, 100), 7)
    body = encode(trace)[HEADER.size :]
    assert decode(body) == trace


def test_bytes_survive_encoding_and_decoding() -> None:
    findings = Remembered(("é.py",), "digest", b"\0\xff{}\0", "after")
    assert decode(encode(findings)[HEADER.size :]) == findings
    assert decode(encode(replace(findings, pickled=b""))[HEADER.size :]) == replace(findings, pickled=b"")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b'{"attached": "pickled"}',
        b'{"message": "Cancel", "attached": 3}\0x',
        b'{"message": "Heartbeat", "attached": "id"}\0x',
        b"{}",
        b"[]",
        b"null",
        b'{"message": "Nonsense"}',
        b'{"message": "Cancel"}',
        b"\xff",
    ],
)
def test_bytes_that_are_no_message_are_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(body)


@given(bodies=st.lists(st.binary(max_size=50)), cuts=st.lists(st.integers(0, 500)))
def test_frames_are_found_however_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(HEADER.pack(len(body)) + body for body in bodies)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    frames = Frames()
    found = [body for start, end in itertools.pairwise(edges) for body in frames.feed(stream[start:end])]
    assert found == bodies


def test_an_unfinished_frame_is_never_seen() -> None:
    frames = Frames()
    assert list(frames.feed(HEADER.pack(4) + b"abc")) == []


def test_an_impossible_message_length_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="bytes"):
        list(Frames().feed(HEADER.pack(LARGEST + 1)))
