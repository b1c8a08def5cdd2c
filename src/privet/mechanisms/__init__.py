"""The one door out of the private side, and the samplers behind it."""
