"""The policy that is trained: a model behind the sampler and its tokenizer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flax import nnx
from jaxtyping import Array, Key

from murphy_jax import config
from murphy_jax.rollout.grow import Proposal, Request
from murphy_jax.rollout.sampler import GroupRequest, GroupSample, Sampler


@dataclass(frozen=True, kw_only=True)
class ModelPolicy:
    """Answers requests by sampling.

    Attributes:
        sampler: the compiled programs.
        tokenizer: turns sampled tokens into text.
        params: parameters to sample with.
        key: decides all randomness, together with the requests' node numbers.
        sampling: temperature and filters.
    """

    sampler: Sampler
    tokenizer: Any
    params: nnx.State
    key: Key[Array, ""]
    sampling: config.Sampling

    def propose(self, requests: Sequence[Request]) -> Iterator[tuple[int, Proposal]]:
        """Sample every request, yielding groups as their batch is done."""
        groups = [GroupRequest(context=request.context, nodes=request.nodes) for request in requests]
        settings = self.sampling
        for index, sample in self.sampler.sample(
            self.params,
            self.key,
            groups,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
        ):
            yield index, Proposal(completions=completions(self.tokenizer, sample), sample=sample)


def completions(tokenizer: Any, sample: GroupSample) -> tuple[str, ...]:
    """The text of each member, without the stop token."""
    ids = [
        row[: length - stopped].tolist()
        for row, length, stopped in zip(sample.tokens, sample.lengths, sample.stopped, strict=True)
    ]
    return tuple(tokenizer.batch_decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def context_buckets(settings: config.Rollout) -> tuple[int, ...]:
    """Lengths that contexts are padded to: the configured ones, or a quarter, a half and the whole of the maximum."""
    longest = settings.max_context_tokens
    return settings.context_buckets or tuple(sorted({max(16, longest // 4), max(16, longest // 2), longest}))
