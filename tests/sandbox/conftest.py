"""One sandbox for all tests that only grade programs, and a place for temporary files that programs can reach."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from murphy_jax.sandbox import Sandbox
from tests.sandbox.programs import LIMITS, program


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, workers=2) as shared:
        shared.run([program("")] * 2)  # both are up: tests count processes
        yield shared


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A new directory that every user may enter and read; pytest's own is for its user only."""
    folder = Path(tempfile.mkdtemp(prefix="murphy-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
