"""Fit a private random forest on Adult: who earns more than 50,000 dollars a year?

Shows the three steps of every use of privet: say what is public, look at the plan, then fit and see what was spent.
"""

from time import perf_counter

from privet import RandomDecisionForestClassifier
from privet.datasets import load_adult


def main() -> None:
    """Print the plan, the accuracy beside the majority share, and the ledger."""
    adult = load_adult()
    forest = RandomDecisionForestClassifier(
        epsilon=1.0,
        schema=adult.schema,  # bounds, categories and classes from the census codebook, not from the records
        n_trees=32,
        max_depth=8,
        random_state=0,  # the shapes of the trees, which are public; the noise cannot be seeded
    )

    print("Before any record is seen, the plan says what a fit will spend:\n")
    print(forest.plan().table())

    start = perf_counter()
    forest.fit(*adult.train)
    seconds = perf_counter() - start

    X, y = adult.test
    majority = y.value_counts(normalize=True).max()
    print(f"\nFitted in {seconds:.1f} s (the first time compiles). On the {len(y):,} records of the test part:\n")
    print(f"  accuracy            {forest.score(X, y):.3f}")
    print(f"  largest class only  {majority:.3f}")
    print("\nWhat was spent:\n")
    print(forest.privacy_.table())


if __name__ == "__main__":
    main()
