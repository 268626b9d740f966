"""What a programmer gets to read: values, exceptions and tracebacks as short text that names no path of the host.

Runs beside untrusted code: a value's `__repr__` or an exception's `__str__` may raise, loop or lie. Raising is
handled here, looping by the limits of the process; a lie only misleads the program's own author. Characters that a
terminal or a log would act on are escaped, and addresses, which differ from run to run, are left out; a chat
template's tokens are not known here and stay.
"""

import os
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

SOLUTION = "solution.py"
LIBRARY = str(Path(os.__file__).parent)
MAX_VALUE = 500
MAX_MESSAGE = 1000
MAX_LINE = 200
MAX_FRAMES = 4
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


def shorten(text: str, limit: int) -> str:
    """`text` with its middle left out where it is longer than `limit` characters.

    >>> shorten("abcdefghijklmnopqrstuvwxyz", 6)
    'abcd ... 20 characters ... yz'
    """
    if len(text) <= limit:
        return text
    head = -(-limit * 2 // 3)
    return f"{text[:head]} ... {len(text) - limit} characters ... {text[len(text) - limit + head :]}"


def printable(text: str) -> str:
    r"""`text` with everything but printable characters and line ends escaped, and without addresses.

    >>> printable("a\x1b[2Jb <object at 0x7f00>")
    'a\\x1b[2Jb <object at 0x...>'
    """
    text = _ADDRESS.sub("at 0x...", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def show(value: object, limit: int = MAX_VALUE) -> str:
    """`repr(value)`, shortened in the middle; the type's name where there is no repr."""
    try:
        return printable(shorten(repr(value), limit))
    except BaseException as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def message(error: BaseException, folder: str) -> str:
    """`ValueError: bad input`, as the last line of a traceback has it; a syntax error names its line.

    Args:
        error: what was raised.
        folder: the working directory, shown as `.`; the library's folder is shown as `python`.
    """
    name = type(error).__name__
    try:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        text = f"{error.msg}{line}" if isinstance(error, SyntaxError) else str(error)
        text = printable(shorten(text.replace(folder, ".").replace(LIBRARY, "python"), MAX_MESSAGE))
    except BaseException:
        return name
    return f"{name}: {text}" if text else name


def traceback(error: BaseException, source: str) -> str:
    """The last frames of `error` that are the program's own, each with its line of `source`."""
    if isinstance(error, SyntaxError) and error.filename == SOLUTION:
        return _entry(error.lineno or 0, "", source)
    own = (_entry_of(step, source) for step in steps(error.__traceback__) if filename(step) == SOLUTION)
    return "\n".join(deque(own, maxlen=MAX_FRAMES))


def steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, outermost first."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def filename(step: TracebackType) -> str:
    """The file that the frame of a traceback's entry was compiled from."""
    return step.tb_frame.f_code.co_filename


def _entry_of(step: TracebackType, source: str) -> str:
    return _entry(step.tb_lineno or 0, step.tb_frame.f_code.co_name, source)


def _entry(line: int, name: str, source: str) -> str:
    place = f", in {name}" if name and name != "<module>" else ""
    lines = source.splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f'File "{SOLUTION}", line {line}{place}' + (f"\n    {shorten(text, MAX_LINE)}" if text else "")
