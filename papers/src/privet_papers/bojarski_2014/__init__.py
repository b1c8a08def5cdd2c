"""Bojarski, Choromanska, Choromanski and LeCun (2014): random decision trees, private and not."""
