"""What an installation takes on disk, by distribution: of privet itself, and of an extra.

Follows the declared dependencies of the installed distributions, and adds up the files that each has installed.

    python benchmarks/install_size.py
    python benchmarks/install_size.py --extra all --least 5
"""

import argparse
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement


def needed(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> None:
    """Collect a distribution and all that it needs with these extras."""
    key = name.lower().replace("_", "-")
    try:
        installed = found.get(key) or distribution(name)
    except PackageNotFoundError:
        return
    known = key in found
    found[key] = installed
    if known and not extras:
        return
    for text in installed.requires or ():
        wanted = Requirement(text)
        environments = [{"extra": extra} for extra in extras] or [{"extra": ""}]
        applies = wanted.marker is None or any(wanted.marker.evaluate(environment) for environment in environments)
        if applies and (wanted.name.lower().replace("_", "-") not in found or wanted.extras):
            needed(wanted.name, frozenset(wanted.extras), found)


def megabytes(installed: Distribution) -> float:
    """Return the size of all files of a distribution, those that Python compiles apart."""
    total = 0
    for file in installed.files or ():
        path = file.locate()
        if ".pyc" not in file.name and path.is_file():  # type: ignore[union-attr]  # a path of the file system
            total += path.stat().st_size  # type: ignore[union-attr]  # the same
    return total / 1e6


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", default=[], help="an extra of privet; may be given several times")
    parser.add_argument("--least", type=float, default=1.0, help="smaller ones are added up in one line (MB)")
    asked = parser.parse_args()
    found: dict[str, Distribution] = {}
    needed("privet", frozenset(asked.extra), found)
    sizes = sorted(((megabytes(one), key) for key, one in found.items()), reverse=True)
    print("| distribution | MB |\n|---|---:|")
    for size, key in sizes:
        if size >= asked.least:
            print(f"| {key} | {size:.0f} |")
    small = [size for size, _ in sizes if size < asked.least]
    print(f"| {len(small)} smaller ones | {sum(small):.0f} |")
    print(f"| **together** | **{sum(size for size, _ in sizes):.0f}** |")


if __name__ == "__main__":
    main()
