"""The operations that repair tasks are composed of.

A closed operation is fully described by its phrase. An open one has alternatives, each a reading of the same phrase,
and only the tests tell which one is meant. Every operation is one line of a program, `x = <expression of x>`.
"""

from dataclasses import dataclass
from enum import StrEnum

PLACE = "#"


class Kind(StrEnum):
    """What `x` is before and after an operation; the value is how a prompt calls it."""

    NUMBERS = "a list of integers"
    WORDS = "a list of words"
    TEXT = "a string"
    RESULT = "a result"  # nothing can follow


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation.

    Attributes:
        name: unique; the sequence of names is a task's composition.
        takes: the kind of `x` before.
        gives: the kind of `x` after.
        phrase: how a prompt says it; `#` stands for the constant.
        alternatives: expressions of `x`, one for each reading of the phrase; `#` stands for the constant.
        constants: what `#` can be.
    """

    name: str
    takes: Kind
    gives: Kind
    phrase: str
    alternatives: tuple[str, ...]
    constants: tuple[str, ...] = ("",)

    @property
    def is_open(self) -> bool:
        """Whether the phrase has more than one reading."""
        return len(self.alternatives) > 1


def _on_numbers(name: str, phrase: str, *alternatives: str, constants: tuple[str, ...] = ("",)) -> Operation:
    return Operation(
        name=name,
        takes=Kind.NUMBERS,
        gives=Kind.NUMBERS,
        phrase=phrase,
        alternatives=alternatives,
        constants=constants,
    )


def _on_words(name: str, phrase: str, *alternatives: str, constants: tuple[str, ...] = ("",)) -> Operation:
    return Operation(
        name=name, takes=Kind.WORDS, gives=Kind.WORDS, phrase=phrase, alternatives=alternatives, constants=constants
    )


def _on_text(name: str, phrase: str, *alternatives: str, constants: tuple[str, ...] = ("",)) -> Operation:
    return Operation(
        name=name, takes=Kind.TEXT, gives=Kind.TEXT, phrase=phrase, alternatives=alternatives, constants=constants
    )


def _to(name: str, takes: Kind, gives: Kind, phrase: str, *alternatives: str) -> Operation:
    return Operation(name=name, takes=takes, gives=gives, phrase=phrase, alternatives=alternatives)


_SEPARATORS = ("-", "/", "+", ":", "~")
_BRACKETS = (("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"))
_ENDS = ("!", "?", ";", "%")
_FILLINGS = ("_", "*", "=", "^")
_PREFIXES = ("@", "$", "&")
_KEYS = ("out", "res", "val", "ans")

CLOSED = (
    _on_numbers("keep_even", "keep the even numbers", "[v for v in x if v % 2 == 0]"),
    _on_numbers("keep_odd", "keep the odd numbers", "[v for v in x if v % 2 == 1]"),
    _on_numbers(
        "keep_larger", "keep the numbers larger than #", "[v for v in x if v > #]", constants=("2", "3", "4", "5")
    ),
    _on_numbers("add", "add # to each", "[v + # for v in x]", constants=("3", "4", "5", "6")),
    _on_numbers("multiply", "multiply each by #", "[v * # for v in x]", constants=("2", "3", "4")),
    _on_numbers("square", "square each", "[v * v for v in x]"),
    _on_numbers("drop_first_number", "drop the first", "x[1:]"),
    _on_numbers("drop_repeated", "drop repeated values", "list(dict.fromkeys(x))"),
    _on_numbers("reverse_numbers", "reverse the order", "x[::-1]"),
    _to("add_up", Kind.NUMBERS, Kind.RESULT, "add them up", "sum(x)"),
    _on_words(
        "keep_longer", "keep the words longer than # letters", "[v for v in x if len(v) > #]", constants=("2", "3")
    ),
    _on_words("drop_first_word", "drop the first", "x[1:]"),
    _on_words("reverse_words", "reverse the order", "x[::-1]"),
    _to("lengths", Kind.WORDS, Kind.NUMBERS, "take their lengths", "[len(v) for v in x]"),
    _to("first_letters", Kind.WORDS, Kind.TEXT, "put their first letters together", '"".join(v[0] for v in x)'),
    _on_text("reverse_text", "reverse it", "x[::-1]"),
    _on_text("strip", "strip the spaces at both ends", "x.strip()"),
    _on_text("remove_vowels", "remove the vowels a e i o u", '"".join(v for v in x if v not in "aeiou")'),
    _on_text("repeat", "repeat it twice", "x * 2"),
    _on_text("replace", "replace every # with x", 'x.replace("#", "x")', constants=("a", "e", "o", "t")),
    _to("split", Kind.TEXT, Kind.WORDS, "split it into words", "x.split()"),
)

OPEN = (
    _on_numbers("sort_numbers", "sort them", "sorted(x)", "sorted(x, reverse=True)"),
    _on_numbers("take_two_numbers", "take two from one end", "x[:2]", "x[-2:]"),
    _on_numbers("rotate", "move one number to the other end", "x[1:] + x[:1]", "x[-1:] + x[:-1]"),
    _to("fallback", Kind.NUMBERS, Kind.RESULT, "return a fallback when it is empty", "x or 0", "x or None", "x or -1"),
    _to("label_numbers", Kind.NUMBERS, Kind.RESULT, "put them under a key", *(f'{{"{key}": x}}' for key in _KEYS)),
    _to(
        "join_numbers",
        Kind.NUMBERS,
        Kind.TEXT,
        "join them into one string",
        *(f'"{separator}".join(map(str, x))' for separator in _SEPARATORS),
    ),
    _on_words("sort_words", "sort them", "sorted(x)", "sorted(x, reverse=True)"),
    _on_words("take_two_words", "take two from one end", "x[:2]", "x[-2:]"),
    _on_words("prefix", "put a mark before each", *(f'["{prefix}" + v for v in x]' for prefix in _PREFIXES)),
    _to("label_words", Kind.WORDS, Kind.RESULT, "put them under a key", *(f'{{"{key}": x}}' for key in _KEYS)),
    _to(
        "join_words",
        Kind.WORDS,
        Kind.TEXT,
        "join them into one string",
        *(f'"{separator}".join(x)' for separator in _SEPARATORS),
    ),
    _on_text("change_case", "change the case", "x.upper()", "x.lower()"),
    _on_text("wrap", "wrap it in brackets", *(f'"{left}" + x + "{right}"' for left, right in _BRACKETS)),
    _on_text("end", "add a mark at the end", *(f'x + "{end}"' for end in _ENDS)),
    _on_text("fill", "replace the spaces with a mark", *(f'x.replace(" ", "{mark}")' for mark in _FILLINGS)),
)

OPERATIONS = CLOSED + OPEN
