"""Randomness that is not a secret draw: keyed hashes, and public generators."""
