"""A trace that is larger than what may be taken of memory: read as a stream, with progress on a terminal.

    big_trace_test.py PROGRAM SOURCE [MEGABYTES]

Run by ctest with 150 MB, 40 under sanitizers; 1000 take a minute. A document tree of such a file is ten times its size.
"""

import json
import os
import pty
import subprocess
import sys
import tempfile
import time
import unittest

import sanitizers
import terminal

PROGRAM = sys.argv[1]
SANITIZED = sanitizers.watch(PROGRAM)
MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 40 if SANITIZED else 150
KERNELS = ("void at::native::vectorized_elementwise_kernel<4, at::native::relu>(int, float)", "ampere_sgemm_128x64_tn",
           "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)")


def write_trace(path, megabytes):
    """PyTorch's events: a call on the host, the launch in it, the kernel. Returns the number of kernels."""
    number, size = 0, 0
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "none", "pid": 1}')
        while size < megabytes * 1e6:
            events = []
            for _ in range(1000):
                number += 1
                at = 10 * number
                events.append('\n,{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":1,"tid":1,"ts":%d,"dur":9.5,'
                              '"args":{"External id":%d,"Record function id":0,"Sequence number":%d}}' % (number % 40, at, number, number))
                events.append('\n,{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":4,'
                              '"args":{"External id":%d,"cbid":211,"correlation":%d}}' % (at + 2, number, number))
                events.append('\n,{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":8,"args":{"External id":%d,'
                              '"queued":0,"device":0,"context":1,"stream":7,"correlation":%d,"registers per thread":32,'
                              '"shared memory":0,"blocks per SM":1.5,"warps per SM":6,"grid":[128,1,1],"block":[128,1,1]}}'
                              % (KERNELS[number % 3], at + 5, number, number))
            text = "".join(events)
            size += len(text)
            file.write(text)
        file.write("]}\n")
    return number


def measured(path, on_terminal):
    """Output, what a terminal showed, and the most memory in bytes."""
    main, side = pty.openpty() if on_terminal else os.pipe()
    with open(path + ".profile", "wb") as profile:  # beside a pipe nothing is shown
        process = subprocess.Popen([PROGRAM, "measured", path, "--format", "json"], stdout=profile, stderr=side)
    ended = []
    shown = terminal.read_all(main, side, lambda: ended.extend(os.wait4(process.pid, 0)))
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    with open(path + ".profile", "rb") as profile:
        output = profile.read()
    assert process.returncode == 0, shown
    return output, shown.decode(), usage.ru_maxrss * 1024


class BigTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "trace.json")
        cls.kernels = write_trace(cls.path, MEGABYTES)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_memory_and_progress(self):
        began = time.monotonic()
        output, shown, most = measured(self.path, True)
        took = time.monotonic() - began
        profile = json.loads(output)["profiles"][0]
        total = profile["totals"]["kernels"]
        self.assertEqual(total["launches"], self.kernels)
        self.assertAlmostEqual(total["time_s"], 8e-6 * self.kernels, places=6)
        self.assertEqual(profile["activity"][0]["gaps"], self.kernels - 1)
        if took > 2:
            self.assertRegex(shown, r"\[=* *\] \d+ of \d+ MB of ")
            self.assertTrue(shown.endswith("\r\x1b[K"), "the line is taken away")
        size = os.path.getsize(self.path)
        print("%.0f MB of trace, %.0f MB of memory" % (size / 1e6, most / 1e6))
        if not SANITIZED:
            self.assertLess(most, 0.3 * size + 40e6)

    def test_no_progress_without_a_terminal(self):
        _, shown, _ = measured(self.path, False)
        self.assertEqual(shown, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
