"""The rules that conftest sets are in force."""

import importlib
import socket
import warnings

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from tests.conftest import NUM_DEVICES


def test_there_are_eight_cpu_devices() -> None:
    assert [device.platform for device in jax.devices()] == ["cpu"] * NUM_DEVICES


def test_silent_rank_and_dtype_promotion_raise() -> None:
    with pytest.raises(ValueError, match="rank_promotion"):
        jnp.zeros((2, 3)) + jnp.zeros(3)
    with pytest.raises(ValueError, match="implicit dtype promotion"):
        jnp.zeros(2, jnp.float32) + jnp.zeros(2, jnp.int32)


def test_a_warning_is_an_error() -> None:
    with pytest.raises(UserWarning):
        warnings.warn("something is odd", stacklevel=1)


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("example.org", 80)])
def test_a_connection_that_leaves_the_machine_is_refused(address: tuple[str, int]) -> None:
    with socket.socket() as connection, pytest.raises(AssertionError, match="no network"):
        connection.connect(address)


def test_loopback_connections_work() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as connection:
        connection.connect(server.getsockname())
        assert connection.getpeername() == server.getsockname()


def test_third_party_packages_import_without_a_warning() -> None:
    for name in ("chex", "grain", "optax", "orbax.checkpoint", "transformers", "tokenizers", "safetensors.flax"):
        importlib.import_module(name)


def test_a_flax_layer_runs_under_the_strict_rules() -> None:
    layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    assert layer(jnp.ones((1, 2))).shape == (1, 3)
