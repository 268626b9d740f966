"""What the documents name exists: files, make targets, commands; and the page of all keys is current."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from murphy_jax import cli, config
from tests.conftest import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/configuration.md")
MADE_BY_RUNS = ("runs/", "RUN/", "path/to/")
SOURCE_FOLDERS = ("murphy_jax/", "configs/", "tests/", "docs/", ".ci/")


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def commands(page: str, program: str) -> list[list[str]]:
    """The lines of code blocks that call `program`, comments and continuations resolved."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    calls = [shlex.split(line.removeprefix(".venv/bin/"), comments=True) for line in lines]
    return [call[1:] for call in calls if call and call[0] == program]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    quoted = re.findall(r"`([\w./*-]+)`", text(page))
    links = [target.split("#")[0] for target in re.findall(r"\]\(([^)]+)\)", text(page)) if "://" not in target]
    files = [name for name in quoted if name.startswith(SOURCE_FOLDERS) and not name.startswith(MADE_BY_RUNS)]
    assert not [name for name in files if not list(ROOT.glob(name.rstrip("/")))]
    assert not [target for target in links if target and not ((ROOT / page).parent / target).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_ascii(page: str) -> None:
    assert text(page).isascii()


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_a_page_names_exists(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    called = {call[0] for call in commands(page, "make")} | set(re.findall(r"`make ([a-z-]+)`", text(page)))
    assert called <= targets


def test_every_murphy_command_in_the_readme_is_one_that_the_program_takes() -> None:
    calls = commands("README.md", "murphy")
    assert len(calls) >= 4
    for call in calls:
        rest, overrides = cli._split(call)
        options = cli._parser().parse_args(rest)
        if options.command != "report":
            config.load(Path(options.config) if options.config else None, overrides)


def test_the_page_of_all_keys_is_what_the_code_says() -> None:
    render = runpy.run_path(str(ROOT / "docs" / "configuration.py"))["render"]
    assert text("docs/configuration.md") == render(), "run: python docs/configuration.py"
