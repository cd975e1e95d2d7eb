"""The program dlcost, as `dlcost` and as `python -m dlcost`."""

import signal
import sys


def main():
    # As any other program: Ctrl-C ends it at once, and so does a closed pipe.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    from . import _core
    models = {}
    if any(".py:" in argument for argument in sys.argv[1:]):
        from ._python_models import built_by
        try:
            models = built_by(sys.argv[1:])
        except _core.Error as error:
            print(f"dlcost: {error}", file=sys.stderr)
            sys.exit(2)
    sys.exit(_core.main(["dlcost", *sys.argv[1:]], models))


if __name__ == "__main__":
    main()
