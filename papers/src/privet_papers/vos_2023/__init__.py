"""Vos, Vos, Li, Erkin and Verwer (2023): PrivaTree, and what privacy does against poisoning."""
