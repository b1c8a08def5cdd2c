"""What every estimator shares: checks, plan, fit, predict, files; and what a learner is."""
