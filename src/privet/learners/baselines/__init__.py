"""Rivals that the papers compare with, rebuilt from what is known of them and made sound."""
