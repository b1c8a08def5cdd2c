"""Fletcher and Islam (2017): random forests on disjoint data, one label per leaf."""
