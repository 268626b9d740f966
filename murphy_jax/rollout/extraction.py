"""From a completion to a program: the one place for the rule.

    1. the last closed fenced block whose language is Python or not named
    2. else a block like that which was opened and never closed, to the end
    3. else the whole text

Fences are CommonMark's: a line of three or more backticks or tildes, closed by a line of at least as many. Prose
around blocks is ignored, and a block that is indented, as in a list, loses that indentation. Nothing is parsed or
checked here: what is not a program fails in the sandbox.
"""

import re

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)")
_LANGUAGES = ("", "python", "python3", "py")


def extract_program(completion: str) -> str:
    r"""The program of a completion, with line ends as `\n`.

    >>> extract_program("Like this:\n```python\nx = 1\n```\nDone.")
    'x = 1'
    """
    text = completion.replace("\r\n", "\n").replace("\r", "\n")
    closed, unclosed = _blocks(text.split("\n"))
    if closed is not None:
        return closed
    return text if unclosed is None else unclosed


def _blocks(lines: list[str]) -> tuple[str | None, str | None]:
    """The last closed Python block, and the one still open at the end."""
    closed = None
    opening: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        fence = _FENCE.fullmatch(line)
        if opening is None:
            opening, body = fence, []
        elif fence is not None and _closes(fence, opening):
            closed = _dedent(body, opening) if _is_python(opening) else closed
            opening = None
        else:
            body.append(line)
    return closed, None if opening is None or not _is_python(opening) else _dedent(body, opening)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    return not fence[3].strip() and fence[2].startswith(opening[2])


def _is_python(opening: re.Match[str]) -> bool:
    words = opening[3].split()
    return (words[0].lower() if words else "") in _LANGUAGES


def _dedent(lines: list[str], opening: re.Match[str]) -> str:
    return "\n".join(line.removeprefix(opening[1]) for line in lines)
