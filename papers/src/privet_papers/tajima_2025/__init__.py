"""Tajima, Wu and Houmansadr (2025): the matrix mechanism for forests."""
