"""The update: pack a rollout, take the gradient, step, save, resume."""
