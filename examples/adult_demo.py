"""Fit private trees on Adult: who earns more than 50,000 dollars a year?

Shows every step of a use of privet: say what is public, fit, see what was spent, save the model with its certificate,
and write the page for those who must sign. Run it with ``make demo``; results go to the folder ``demo``.
"""

from pathlib import Path
from time import perf_counter

from privet import PrivaTreeClassifier, RandomDecisionForestClassifier
from privet.datasets import load_adult
from privet.report import write_report
from privet.report.evaluation import measure

OUT = Path("demo")


def main() -> None:
    """Print a ledger and a table of accuracies; write model and report."""
    adult = load_adult()
    X, y = adult.test
    # The schema holds bounds, categories and classes from the census codebook, not from the records. The seed is for
    # the public shapes of random trees; the noise cannot be seeded.
    public = {"schema": adult.schema, "random_state": 0}
    models = [
        PrivaTreeClassifier(epsilon=1.0, **public),
        PrivaTreeClassifier(epsilon=0.1, **public),
        RandomDecisionForestClassifier(epsilon=1.0, n_trees=16, max_depth=6, **public),
    ]
    seconds = []
    for model in models:
        start = perf_counter()
        model.fit(*adult.train)
        seconds.append(perf_counter() - start)

    chosen = models[0]
    OUT.mkdir(exist_ok=True)
    chosen.save(OUT / "model.json")
    # Adult's records are public, so the accuracy may stand on the page.
    write_report(chosen, OUT / "model.html", evaluation=measure(chosen, X, y, data="Adult, test part", public=True))

    print(f"What {type(chosen).__name__} spent, and on what:\n")
    print(chosen.privacy_.table())
    print("\nAccuracy on the test part (the first fit compiles):\n")
    print(f"{'learner':<32}{'epsilon':>8}{'accuracy':>10}{'seconds':>9}")
    for model, taken in zip(models, seconds, strict=True):
        print(f"{type(model).__name__:<32}{model.privacy_.epsilon:>8g}{model.score(X, y):>10.3f}{taken:>9.1f}")
    print(f"{'always the most frequent class':<32}{0:>8g}{y.value_counts(normalize=True).max():>10.3f}{'-':>9}")
    print(f"\nmodel:  {OUT / 'model.json'}\nreport: {OUT / 'model.html'}  (open it in a browser)")


if __name__ == "__main__":
    main()
