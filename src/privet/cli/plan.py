"""``privet plan``: what a training will spend, before any data is seen."""

from __future__ import annotations

from privet.cli.console import note, print_json, say
from privet.cli.options import Delta, Epsilon, Full, Json, Learner, RowsHint, SchemaFile, Settings


def plan(
    schema: SchemaFile = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    learner: Learner = None,
    settings: Settings = None,
    rows_hint: RowsHint = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Show how a training will split the budget. Looks at the schema only; no data is needed.

    Examples:

      privet plan --schema schema.yaml --epsilon 1

      privet plan --schema schema.yaml --epsilon 1 --delta 1e-6 --learner RandomDecisionForest --set n_trees=32
    """
    from privet.cli.drafts import load_schema
    from privet.cli.learners import learner_names, make_estimator
    from privet.privacy.text import guarantee_as_data

    public = load_schema(schema)
    estimator = make_estimator(
        learner, settings or [], epsilon=epsilon, delta=delta, schema=public, n_rows_hint=rows_hint
    )
    ledger = estimator.plan()
    name = type(estimator).__name__
    if as_json:
        print_json({"learner": name, **guarantee_as_data(ledger), "plan": ledger.to_dict()})
        return
    say(f"{name}\n")
    say(ledger.table(full=full))
    if learner is None:
        note(f"\nlearners: {', '.join(learner_names(public.target))}")
