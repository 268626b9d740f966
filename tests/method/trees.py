"""Random trees for property tests."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from murphy_jax.method.tree import num_groups

Shape = tuple[int, int]  # group size, turns
ALL: tuple[Shape, ...] = tuple((size, turns) for size in range(1, 5) for turns in range(1, 5))
# Every shape is compiled, so what takes long to compile is tried on few.
FEW: tuple[Shape, ...] = ((1, 3), (2, 3), (3, 2), (4, 1))


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Trees of 1 to 4 prompts, after their shape; reward is NaN where no node was sampled."""

    reward: np.ndarray
    expanded: np.ndarray
    visited: np.ndarray
    group_size: int
    num_turns: int

    @property
    def arrays(self) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(self.reward), jnp.asarray(self.expanded)


@st.composite
def trees(draw: st.DrawFn, shapes: tuple[Shape, ...] = ALL) -> Tree:
    """Rewards k / 8 or k / 3, solved nodes are leaves, and some failed ones too."""
    group_size, turns = draw(st.sampled_from(shapes))
    num_tests = draw(st.sampled_from([1, 2, 3, 8]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    retried = draw(st.sampled_from([0.0, 0.5, 1.0]))
    shape = (1 + (group_size + turns) % 4, num_groups(group_size, turns), group_size)
    reward = (rng.integers(0, num_tests + 1, shape) / num_tests).astype(np.float32)
    expanded = (reward < 1) & (rng.random(shape) < retried)
    visited = np.zeros(shape[:2], bool)
    visited[:, 0] = True
    for group in range(shape[1]):
        expanded[:, group] &= visited[:, group, None]
        if group * group_size + 1 >= shape[1]:
            expanded[:, group] = False
            continue
        visited[:, group * group_size + 1 : (group + 1) * group_size + 1] = expanded[:, group]
    reward[~visited] = np.nan
    return Tree(reward=reward, expanded=expanded, visited=visited, group_size=group_size, num_turns=turns)


def permuted(tree: Tree, rng: np.random.Generator) -> np.ndarray:
    """Which node of the tree stands at each place after every group's members, with all below them, are shuffled."""
    size = tree.group_size
    nodes = np.zeros(tree.reward.shape[1] * size, int)

    def place(old_group: int, new_group: int) -> None:
        if new_group * size >= len(nodes):
            return
        for new_member, old_member in enumerate(rng.permutation(size)):
            old, new = old_group * size + int(old_member), new_group * size + new_member
            nodes[new] = old
            place(old + 1, new + 1)

    place(0, 0)
    return nodes
