"""Bai, Li, Li, Yang, Jiang and Xia (2021): the multinomial random forest, consistent and private."""
