"""Audit of everything before a learner and around its draws: units, encoding, blocks, coins, draws, budgets.

These checks go through `fit` from a frame and look at what arrives at the learner, or ask a release for draws as a fit
does. Most are certain: they compare integers. Those that count draws state their probability of a false alarm.
"""
