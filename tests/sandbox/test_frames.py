"""Messages over a socket: whole or not at all."""

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.sandbox.harness import frames

Pair = tuple[socket.socket, socket.socket]
JSON = st.dictionaries(st.text(), st.text(st.characters(codec=None)) | st.integers() | st.lists(st.text()), max_size=5)


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        yield ours, theirs


@given(st.lists(JSON, min_size=1, max_size=5))
def test_messages_arrive_as_they_were_sent_and_in_order(messages: list[dict[str, object]]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for message in messages:
            frames.send(theirs, message)

        assert [frames.receive(ours) for _ in messages] == messages


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x09{}"])
def test_a_stream_that_ends_in_a_message_is_an_end(pair: Pair, sent: bytes) -> None:
    ours, theirs = pair
    theirs.sendall(sent)
    theirs.close()

    with pytest.raises(EOFError, match="closed"):
        frames.receive(ours)


@pytest.mark.parametrize("sent", [b"\xff\xff\xff\xff", b"\0\0\0\x02[]", b"\0\0\0\x02{x", b"\0\0\0\x01\xff"])
def test_what_is_no_message_is_refused(pair: Pair, sent: bytes) -> None:
    ours, theirs = pair
    theirs.sendall(sent)

    with pytest.raises(ValueError, match=r"message|JSON|Expecting|codec"):
        frames.receive(ours)


def test_a_message_that_is_too_long_is_not_sent(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_BYTES", 100)

    with pytest.raises(ValueError, match="at most 100"):
        frames.send(pair[0], {"text": "x" * 100})
    pair[0].close()
    assert pair[1].recv(1) == b""
