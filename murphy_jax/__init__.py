"""Train code language models to repair their own programs: MURPHY in pure JAX."""
