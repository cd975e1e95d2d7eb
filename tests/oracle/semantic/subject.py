"""dlcost, as a process that answers one model after the other (shapes_of.cc)."""

import json
import select
import struct
import subprocess

PATIENCE = 20  # seconds for a graph of a dozen small nodes


class Subject:
    def __init__(self, program):
        self.program, self.process = program, None

    def ask(self, model):
        """What dlcost says of a model: its JSON, or {"crash": how it ended}."""
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        data = model.SerializeToString()
        try:
            self.process.stdin.write(struct.pack("<Q", len(data)) + data)
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            line = self.process.stdout.readline() if ready else b""
        except BrokenPipeError:
            ready, line = True, b""
        if line.endswith(b"\n"):
            return json.loads(line)
        if not ready:
            self.process.kill()
        code = self.process.wait()
        self.process = None
        return {"crash": f"ended with {code}" if ready else f"no answer in {PATIENCE} s"}
