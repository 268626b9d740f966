"""Write docs/configuration.md, the list of all keys, from the classes in murphy_jax/config.py.

    python docs/configuration.py

A test compares the file with what this writes, so the page cannot fall behind the code.
"""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from murphy_jax import config

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Configuration

All keys with their defaults, written by `python docs/configuration.py`; do not edit this page. A YAML file holds what
differs from these defaults, and `--section.key VALUE` on the command line overrides the file. A section marked with
*none* is absent unless it is given.
"""
PARTIAL = """\
These defaults hold where nothing of the section is given. Where a part of it is, the rest of it is as in `tasks`: give
`split` and `count` along."""
SYMBOLS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "multiple_of": "a multiple of"}
NAMES: dict[Any, str] = {int: "integer", float: "number", str: "text", bool: "true, false", type(None): "null"}


def render() -> str:
    """The page as text."""
    return "\n".join([HEAD, *_lines(config.Config, config.Config(), ())]).rstrip("\n") + "\n"


def _lines(section: type[config.Section], values: config.Section, path: tuple[str, ...]) -> Iterator[str]:
    """A table of a section's own keys with the values that hold by default, then its subsections."""
    inner = {name: child for name, field in section.model_fields.items() if (child := _section(field.annotation))}
    rows = [
        _row(name, field, getattr(values, name)) for name, field in section.model_fields.items() if name not in inner
    ]
    if rows:
        yield from ["| key | values | default | meaning |", "|---|---|---|---|", *rows, ""]
    for name, child in inner.items():
        given: config.Section | None = getattr(values, name)
        dotted = ".".join((*path, name))
        yield from [f"## {dotted}{' (none)' if given is None else ''}", "", (child.__doc__ or "").strip(), ""]
        if given is not None and given != child():
            yield from [PARTIAL, ""]
        yield from _lines(child, child() if given is None else given, (*path, name))


def _row(name: str, field: FieldInfo, value: Any) -> str:
    default = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True)
    cells = (f"`{name}`", _values(field), f"`{default.splitlines()[0]}`", field.description or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _values(field: FieldInfo) -> str:
    """The type in words, and its bounds."""
    bounds = [
        f"{sign} {getattr(rule, name):g}"
        for rule in field.metadata
        for name, sign in SYMBOLS.items()
        if hasattr(rule, name)
    ]
    return ", ".join([_words(field.annotation), *bounds])


def _words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(map(str, arguments))
    if origin in (types.UnionType, Union):
        return " or ".join(map(_words, arguments))
    return "list of integers" if origin is tuple else NAMES[annotation]


def _section(annotation: Any) -> type[config.Section] | None:
    """The section that a field holds, where it holds one."""
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, config.Section)), None)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
