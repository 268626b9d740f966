"""What a verdict says to whoever has to repair the program: the pass rate, then up to three failures.

    1 of 4 tests passed.
    solve([3, 1, 2]) returned [1, 2, 3], expected [3, 2, 1]
    solve([]) and 1 more raised IndexError: list index out of range
    File "solution.py", line 2, in solve
        x = x[0]

Tests that fail with the same error are one failure. A grader's own fault is not told: it says nothing about the
program. All of it comes from an untrusted program, so control and invisible characters are shown as escapes.
"""

import re

from murphy_jax.sandbox import Outcome, TestResult, Verdict

MAX_FAILURES = 3
MAX_TRACEBACK_LINES = 6
CUT = " ... "
# C0 except tab and newline, C1, zero width, direction marks, line separators, surrogates, byte order mark, tags.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)
_HOST_PATH = re.compile(r'(?<=File ")[^"\n]*[/\\](?=[^"/\\\n]+")')


def describe(verdict: Verdict, *, max_characters: int) -> str:
    """The feedback for a verdict, at most `max_characters` long.

    As many failures as fit; where not even one does, it loses its middle.
    """
    text = f"{verdict.num_passed} of {len(verdict.tests)} tests passed."
    for number, tests in enumerate(_failures(verdict)[:MAX_FAILURES]):
        failure = _sentence(tests)
        room = max_characters - len(text) - 1
        if len(failure) > room and number > 0:
            break
        text = f"{text}\n{shorten(failure, room)}"
    return text[:max_characters]


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with its middle replaced by ` ... `.

    >>> shorten("abcdefghijkl", 9)
    'abc ... l'
    """
    if len(text) <= limit:
        return text
    kept = max(0, limit - len(CUT))
    tail = kept // 3
    return (text[: kept - tail] + CUT + text[len(text) - tail :])[: max(0, limit)]


def escape_control(text: str) -> str:
    r"""`text` with `\n` as line ends and other control or invisible characters as escapes.

    >>> escape_control("a\x1b[31m")
    'a\\x1b[31m'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _failures(verdict: Verdict) -> list[list[TestResult]]:
    """Failed tests in order; those with the same error together."""
    groups: dict[object, list[TestResult]] = {}
    for index, test in enumerate(verdict.tests):
        if test.outcome in (Outcome.PASSED, Outcome.INFRA):
            continue
        key = index if test.outcome is Outcome.WRONG else (test.outcome, test.message, test.traceback)
        groups.setdefault(key, []).append(test)
    return list(groups.values())


def _sentence(tests: list[TestResult]) -> str:
    """What went wrong in tests that failed alike."""
    test = tests[0]
    case = test.case or "A test"
    if len(tests) > 1:
        case = f"{case} and {len(tests) - 1} more"
    match test.outcome:
        case Outcome.WRONG if test.got:
            wanted = f", expected {test.expected}" if test.expected else ""
            text = f"{case} returned {test.got}{wanted}"
        case Outcome.WRONG:
            text = f"{case} failed" + test.message.removeprefix("AssertionError")
        case Outcome.ERROR:
            trace = test.traceback.strip("\n").split("\n")[-MAX_TRACEBACK_LINES:]
            text = "\n".join([f"{case} raised {test.message}", *filter(None, trace)])
        case _:
            text = f"{case}: {test.message or test.outcome.value}"
    return _HOST_PATH.sub("", escape_control(text))
