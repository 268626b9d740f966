"""Messages between the trainer and a zygote: four bytes of length, big-endian, then that many bytes of JSON."""

import json
import socket
from typing import Any

MAX_BYTES = 2**28


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
        ValueError: the message is longer than `MAX_BYTES`.
    """
    body = json.dumps(message).encode()
    if len(body) > MAX_BYTES:
        raise ValueError(f"a message of {len(body)} bytes, at most {MAX_BYTES} are allowed")
    connection.sendall(len(body).to_bytes(4, "big") + body)


def receive(connection: socket.socket) -> dict[str, Any]:
    """Receive one message.

    Raises:
        EOFError: the other side closed the connection.
        OSError: the connection failed, or its timeout passed.
        ValueError: what came is not such a message.
    """
    length = int.from_bytes(_exactly(connection, 4), "big")
    if length > MAX_BYTES:
        raise ValueError(f"a message of {length} bytes is announced, at most {MAX_BYTES} are allowed")
    message = json.loads(_exactly(connection, length))
    if not isinstance(message, dict):
        raise ValueError("a message must be a JSON object")
    return message


def _exactly(connection: socket.socket, count: int) -> bytes:
    """The next `count` bytes."""
    parts = []
    while count:
        part = connection.recv(min(count, 2**20))
        if not part:
            raise EOFError("the connection was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
