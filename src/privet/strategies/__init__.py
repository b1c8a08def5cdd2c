"""Strategies of the matrix mechanism: what to measure once, so that many votes follow from it with little noise.

`cells` and `votes` hold the domain and what a forest asks of it, in closed form; `strategy`, `marginals` and
`p_identity` what can be measured; `support` the exact check that the answers follow; `settings` and `designs` choose
among strategies from public facts; `leaf_values` and `tuning` work on what was released; `matrices` writes the paper's
matrices down.
"""
