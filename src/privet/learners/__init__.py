"""The learners: one file per system. They do not import one another."""
