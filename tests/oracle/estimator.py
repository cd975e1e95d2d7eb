"""Runs the estimator under test and reads its JSON report."""

import concurrent.futures
import json
import os
import subprocess


class EstimatorError(Exception):
    """The estimator ended with an error; the message is its own."""


class Estimator:
    def __init__(self, binary):
        self.binary = binary

    def report(self, model, options=()):
        """The report for a model file, as a dictionary."""
        done = subprocess.run(
            [self.binary, str(model), "--format", "json", *options],
            capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise EstimatorError(f"exit code {done.returncode}: {done.stderr.strip()[:500]}")
        return json.loads(done.stdout)

    def reports(self, jobs):
        """Reports, or the EstimatorError, for [(model, options)], in order."""

        def one(job):
            try:
                return self.report(*job)
            except (EstimatorError, subprocess.TimeoutExpired, ValueError) as error:
                return EstimatorError(str(error))

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(one, jobs))


def tensors(report):
    """Every tensor that a node of the report reads or writes, by name: (dtype, shape)."""
    found = {}
    for node in report["nodes"]:
        for tensor in node["inputs"] + node["outputs"]:
            if tensor["name"]:
                found[tensor["name"]] = tensor
    return found


def unknown(report):
    """One line for each node that the report could not count."""
    return [f"unknown: {u['node']} ({u['op']}): {u['why']}" for u in report["unknown"]]
