"""Other libraries, each run in an environment of its own: one way for the papers' entries and for the benchmarks."""
