"""What a program writes to a terminal, to its last word."""

import os
import threading


def read_all(master, slave, wait):
    """Everything that a process writes to `slave`, whose other end is `master`, until `wait` returns.

    A terminal whose writers are all gone may drop what it has not handed on. So `slave` stays open here, and a NUL behind the
    process's last word tells that this is all. Closes both ends.
    """
    threading.Thread(target=lambda: (wait(), os.write(slave, b"\0"))).start()
    shown = b""
    while not shown.endswith(b"\0"):
        shown += os.read(master, 65536)
    os.close(slave)
    os.close(master)
    return shown[:-1]
