"""Whether a program was built with them: it runs 10 to 40 times as long and takes several times the memory."""


def watch(program):
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()
