#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the tests of test_*.py and print TAP.

    tap.py [DIRECTORY] [NAME...]

The tests are those in DIRECTORY, or else beside this file: all, or those named.
"""

import sys
import unittest
from pathlib import Path


class Result(unittest.TestResult):
    count = 0

    def say(self, ok, test, note="", text=""):
        self.count += 1
        print(f"{'ok' if ok else 'not ok'} {self.count} {test.id()}{note}")
        for line in text.splitlines():
            print(f"# {line}")
        sys.stdout.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(True, test, f" # SKIP {reason}")

    def addError(self, test, err):
        super().addError(test, err)
        self.say(False, test, text=self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(False, test, text=self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            failed = issubclass(err[0], test.failureException)
            self.say(False, subtest, text=(self.failures if failed else self.errors)[-1][1])


def main():
    loader = unittest.TestLoader()
    here, names = str(Path(__file__).parent), sys.argv[1:]
    if names and Path(names[0]).is_dir():
        here = names.pop(0)
    sys.path.insert(0, here)
    suite = loader.loadTestsFromNames(names) if names else loader.discover(here)
    print("TAP version 13")
    result = suite.run(Result())
    print(f"1..{result.count}")
    return 0 if result.wasSuccessful() else 1


sys.exit(main())
