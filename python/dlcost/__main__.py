"""The program dlcost, as `dlcost` and as `python -m dlcost`."""

import signal
import sys


def main():
    # As any other program: Ctrl-C ends it at once, and so does a closed pipe.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from . import _core
    sys.exit(_core.main(["dlcost", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
