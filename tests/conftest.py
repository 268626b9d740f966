"""What holds in every test: 8 CPU devices, no silent promotion, warnings are errors, no network."""

import os

# Read by JAX at its import, and by the processes that tests start.
os.environ["JAX_PLATFORMS"] = "cpu"

import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import jax
import pytest

NUM_DEVICES = 8
ROOT = Path(__file__).parents[1]

# In this process only: what tests start as a command runs as a user would run it.
_set: Callable[[str, object], None] = jax.config.update
_set("jax_num_cpu_devices", NUM_DEVICES)
_set("jax_numpy_rank_promotion", "raise")
_set("jax_numpy_dtype_promotion", "strict")

# A first example compiles, so time says nothing; the same examples in every run.
hypothesis.settings.register_profile("tests", max_examples=50, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("tests")

# `from tests.method import reference`, whatever folder pytest is started in.
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def pytest_configure(config: pytest.Config) -> None:
    """Turn every warning into an error."""
    config.addinivalue_line("filterwarnings", "error")


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Refuse connections that leave this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _local_only(getattr(socket.socket, name)))
        yield


def _local_only(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise AssertionError(f"a test tried to connect to {address}: tests use no network")
        return connect(self, address)

    return guarded


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture
def optax_promotes() -> Iterator[None]:
    """Allow promotion of types: the schedules of optax multiply a step by a float."""
    with jax.numpy_dtype_promotion("standard"):
        yield
