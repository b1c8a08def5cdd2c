"""Poisoning and backdoors (sections V, VI.B and VI.C of Vos et al. 2023): attacks, DPA, tables and figures."""
