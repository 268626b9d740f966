"""Grow the tree: prompts, the sampler, one level at a time."""
