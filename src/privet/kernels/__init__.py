"""Compiled loops over codes: route, count, histogram, vote. Each has a plain twin in the tests."""

from privet.kernels.count import LeafClassCounts, Router
from privet.kernels.histogram import NodeHistogram, RouteStep
from privet.kernels.vote import count_labels, sum_values

__all__ = ["LeafClassCounts", "NodeHistogram", "RouteStep", "Router", "count_labels", "sum_values"]
