"""The arena: accuracy of private learners, ours and others', on equal terms. ``benchmarks/accuracy.py`` runs it."""
