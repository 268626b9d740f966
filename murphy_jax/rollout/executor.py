"""The sandbox with the limits that a configuration names."""

from murphy_jax import config
from murphy_jax.sandbox import Limits, Sandbox


def make_sandbox(settings: config.Sandbox) -> Sandbox:
    """A sandbox, to be entered as a context manager, with the configured limits."""
    limits = Limits(
        cpu_seconds=settings.cpu_seconds,
        wall_seconds=settings.wall_seconds,
        memory_bytes=settings.memory_megabytes * 2**20,
    )
    return Sandbox(limits, workers=settings.workers)
