"""The hand-computed examples in the docstrings hold."""

import doctest
from types import ModuleType

import pytest

from murphy_jax.method import advantage, credit, objective, pruning, tree


@pytest.mark.parametrize("module", [tree, credit, pruning, advantage, objective], ids=lambda m: m.__name__)
def test_docstring_examples(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
