"""axe-core, the checker of accessibility, as a script to run in a page."""

import glob
import os
import subprocess
import sys
import zipfile

WHEEL = "axe-playwright-python==0.1.8"  # holds axe-core 4.12; MPL 2.0


def find_axe(folder):
    """The script's text: of $DLCOST_AXE, of Debian's node-axe-core, or of a package that is fetched into `folder`; None
    where nothing of that is there."""
    for path in (os.environ.get("DLCOST_AXE", ""), "/usr/share/nodejs/axe-core/axe.min.js"):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()

    def wheels():
        return glob.glob(os.path.join(folder, "axe_playwright_python-*.whl"))

    if not wheels():
        try:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, WHEEL],
                           check=False, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None
    for wheel in wheels():
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith("axe.min.js"):
                    return archive.read(name).decode()
    return None
