"""Small random arguments for repair tasks."""

import random
from typing import Any

from murphy_jax.tasks.repair.operations import Kind

WORDS = """
ant bat box car cat cow cup day dog egg fox hat hen ice ink jam key leg map net owl pen pig red sky sun tea toy van
at go in no on up we bear bird blue cake door duck fish frog gold home kite lamp leaf lion moon nest rain road rose
sand ship snow star tree wolf apple bread chair cloud grape house lemon mouse river stone table tiger train water
"""
EMPTY_SHARE = 0.1


def draw(kind: Kind, generator: random.Random) -> Any:
    """One argument of `kind`: at most five one-digit numbers, four words, or a string of at most three words."""
    match kind:
        case Kind.NUMBERS:
            empty = generator.random() < EMPTY_SHARE
            return [generator.randrange(10) for _ in range(0 if empty else generator.randint(2, 5))]
        case Kind.WORDS:
            return [_word(generator) for _ in range(generator.randint(2, 4))]
        case Kind.TEXT:
            words = (_capitalise(_word(generator), generator) for _ in range(generator.randint(1, 3)))
            return _spaces(generator) + " ".join(words) + _spaces(generator)
        case Kind.RESULT:
            raise AssertionError("no operation takes a result")


def _word(generator: random.Random) -> str:
    return generator.choice(WORDS.split())


def _capitalise(word: str, generator: random.Random) -> str:
    """The word, one time in four with a capital."""
    return word.capitalize() if generator.random() < 0.25 else word


def _spaces(generator: random.Random) -> str:
    """One time in four a space."""
    return " " if generator.random() < 0.25 else ""
