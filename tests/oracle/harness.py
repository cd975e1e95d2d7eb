"""What the oracle programs share: named checks, a summary to read, and a visible skip."""

import sys

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def skip(why):
    """Ends the program as skipped, saying why."""
    print(f"[  SKIPPED ] {why}")
    sys.exit(SKIPPED)


class Checks:
    """Collects verdicts under names; a check with no problem passes."""

    def __init__(self, title):
        self.title = title
        self.passed = 0
        self.excused = {}  # reason -> names
        self.failures = []
        self.notes = []

    def check(self, name, problems):
        """`problems` is a list of lines; empty means that the check passed."""
        if problems:
            self.failures.append((name, list(problems)))
        else:
            self.passed += 1

    def equal(self, name, got, want):
        self.check(name, [] if got == want else [f"got {got}, want {want}"])

    def excuse(self, name, reason):
        """A check that cannot be made, with a reason from a short list."""
        self.excused.setdefault(reason, []).append(name)

    def note(self, line):
        self.notes.append(line)

    def finish(self):
        """Prints the summary and ends the program: 0, or 1 when a check failed."""
        for name, problems in self.failures:
            print(f"[  FAILED  ] {name}")
            for line in problems[:8]:
                print(f"             {line}")
            if len(problems) > 8:
                print(f"             ... and {len(problems) - 8} more")
        for line in self.notes:
            print(f"[   NOTE   ] {line}")
        for reason, names in sorted(self.excused.items()):
            print(f"[  EXCUSED ] {len(names)}: {reason}")
        total = self.passed + len(self.failures)
        print(f"[==========] {self.title}: {total} checks")
        print(f"[  PASSED  ] {self.passed}")
        if self.failures:
            print(f"[  FAILED  ] {len(self.failures)}")
        if total == 0:
            print("[  FAILED  ] nothing was checked")
        sys.exit(1 if self.failures or total == 0 else 0)
