# SPDX-License-Identifier: GPL-2.0-only
"""examples/dask on the device "flaky": a worker for each card, of which one is killed."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import client

try:
    import distributed
    sys.path.insert(0, "examples/dask")
    import digits
except ModuleNotFoundError:
    distributed = None

DIR = pathlib.Path(os.environ["SERVE_TEST"])
CARDS = [f"flaky:{i}" for i in range(3)]
TIMES = 16      # of all images: the worker must be killed in the middle


@unittest.skipUnless(distributed, "there is no python3-distributed")
class Workers(unittest.TestCase):
    def setUp(self):
        self.scheduler = subprocess.Popen(
            ["dask-scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
             "--scheduler-file", DIR / f"{self.id()}.json"], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, self.scheduler)
        client.until(self.find_scheduler)
        self.workers = subprocess.Popen(["examples/dask/workers.sh", self.address, *CARDS], cwd=".",
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, self.workers)
        self.client = distributed.Client(self.address)
        self.addCleanup(self.client.close)
        self.client.wait_for_workers(len(CARDS), client.SECONDS)
        # As others import the example: workers have no module of this name.
        distributed.protocol.pickle.cloudpickle.register_pickle_by_value(digits)

    def find_scheduler(self):
        """Set its address, when the scheduler has written all of its file."""
        try:
            self.address = json.loads((DIR / f"{self.id()}.json").read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):
            return False
        return True

    @staticmethod
    def end(process):
        """End a process and those that it has started."""
        process.terminate()
        process.wait(client.SECONDS)

    def test_worker_is_killed_in_the_middle(self):
        # This process may be paused until all is done, but not each time.
        self.assertTrue(any(self.kill_a_worker() for _ in range(5)))

    def kill_a_worker(self):
        """Kill one of those that compute; false if there was nothing left for it."""
        pixels = (DIR / "images").read_bytes() * TIMES
        pids = self.client.run(os.getpid)
        tasks = digits.begin(self.client, str(DIR / "models" / "digits.vtap"), pixels)
        distributed.wait(tasks[:3], client.SECONDS)
        killed = next(iter(pids.values()))
        os.kill(killed, signal.SIGKILL)
        done = sum(task.done() for task in tasks)
        distributed.wait(tasks, client.SECONDS)
        results = self.client.gather(tasks)
        self.assertEqual(len(results), len(tasks))
        self.assertEqual(b"".join(scores for _, scores in results),
                         (DIR / "scores").read_bytes() * TIMES)
        # Its nanny starts another.
        client.until(lambda: len(self.client.scheduler_info()["workers"]) == len(CARDS) and
                     killed not in self.client.run(os.getpid).values())
        return done < len(tasks)

    def test_example(self):
        answer = subprocess.run(
            [sys.executable, "examples/dask/digits.py", self.address, DIR / "models" / "digits.vtap",
             "examples/digits/testset.bin"], check=True, capture_output=True, text=True,
            timeout=client.SECONDS)
        self.assertIn("1976 of 2000 digits are right", answer.stdout)
        self.assertEqual(sum(int(n) for n in re.findall(r": (\d+) tasks", answer.stdout)), 40)
