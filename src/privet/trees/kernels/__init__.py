"""Compiled loops over codes: route, count, histogram, vote. Each has a plain twin in the tests."""
