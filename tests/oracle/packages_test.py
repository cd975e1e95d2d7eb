"""Models that other people's packages ship, from PyPI: multiply-accumulates, the shape of every tensor,
parameters and weight bytes as in a real run in onnxruntime, and nothing unknown.

By default a sample of small packages that takes about a minute; DLCOST_ORACLE_REAL=1 (scripts/test real) takes
the whole list. packages_allowed.txt has the excuses.

usage: packages_test.py DLCOST CACHE_FOLDER [PACKAGE...]
"""

import os
import pathlib
import sys

import harness
import packages
import real_models
from estimator import Estimator

ALLOWED = pathlib.Path(__file__).with_name("packages_allowed.txt")


def main():
    estimator, cache = Estimator(sys.argv[1]), pathlib.Path(sys.argv[2])
    cache.mkdir(parents=True, exist_ok=True)
    every = packages.read_list()
    full = bool(os.environ.get("DLCOST_ORACLE_REAL"))
    chosen = [p for p in every if full or p.sample]
    if sys.argv[3:]:
        chosen = [p for p in every if p.requirement.split("==")[0] in sys.argv[3:]]
    checks = harness.Checks("models in packages")
    comparison = real_models.Comparison(checks, estimator, cache, real_models.read_allowed(ALLOWED))
    packages.fetch(chosen, cache)
    missing = []
    for package in chosen:
        found = packages.cases(package, cache)
        if found is None:
            missing.append(package.requirement)
            continue
        for case in found:
            comparison.compare(case.name, case.path, case.options, case.feed)
    if len(missing) == len(chosen):
        harness.skip(f"no package can be downloaded, {missing[0]} first")
    for requirement in missing:
        checks.excuse(requirement, "cannot be downloaded")
    if not full:
        checks.note(f"{len(chosen)} of {len(every)} packages; scripts/test real takes all")
    comparison.summarize(f"{len(chosen) - len(missing)} packages", complete=full and not missing)
    checks.finish()


if __name__ == "__main__":
    main()
