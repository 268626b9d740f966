"""Fixtures of the observe tests."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.observe.browser import Browser
from tests.observe.runs import fake_run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Function that writes a fake run folder, with the keywords of `fake_run`."""

    def make(**options: Any) -> Path:
        return fake_run(tmp_path / "demo-run", **options)

    return make


@pytest.fixture
def rng() -> random.Random:
    """A seeded source of randomness."""
    return random.Random(11)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless chromium where one is installed."""
    executable = shutil.which("chromium")
    if executable is None or shutil.which("bash") is None:
        pytest.skip("needs chromium and bash")
    opened = Browser(executable, tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()
