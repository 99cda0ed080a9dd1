"""How much of `source/` is one file cut in several: the modules that only one other module imports.

python benchmarks/check/single_use.py [--show]
"""

import argparse

import grimp

FOLDER = "zerograd.source"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="name them")
    options = parser.parse_args()
    graph = grimp.build_graph("zerograd", cache_dir=None)
    modules = [one for one in graph.modules if one.startswith(f"{FOLDER}.")]
    # Packages hold no code but a docstring.
    modules = [one for one in modules if not any(other.startswith(f"{one}.") for other in modules)]
    importers = {one: graph.find_modules_that_directly_import(one) for one in modules}
    single = sorted(one for one, users in importers.items() if len(users) == 1)
    print(
        f"{len(single)} of {len(modules)} modules ({len(single) / len(modules):.0%}) are used by one other module only"
    )
    for one in single if options.show else ():
        (user,) = importers[one]
        print(f"  {one} by {user}")


if __name__ == "__main__":
    main()
