"""Runs in the interpreter under test: each test of a module by itself, one line for its beginning and one for its verdict.

SKIP=test.id,test.id python3.11 cpython_runner.py test_os
"""

import importlib
import os
import sys
import traceback
import unittest


class Lines(unittest.TestResult):
    """`@@ ID VERDICT`, and `## WHY` below one that failed."""

    def say(self, test, verdict, error=None):
        text = f"\n@@ {test.id()} {verdict}\n"
        if error is not None:
            text += "## " + " | ".join(traceback.format_exception(*error)[-2:]).replace("\n", " ")[:500] + "\n"
        os.write(1, text.encode("utf-8", "replace"))

    def startTest(self, test):
        super().startTest(test)
        self.say(test, "begin")

    def addSuccess(self, test):
        self.say(test, "ok")

    def addExpectedFailure(self, test, error):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        self.say(test, "skipped")

    def addError(self, test, error):
        self.say(test, "error", error)

    def addFailure(self, test, error):
        self.say(test, "failed", error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.say(test, "failed", error)


def tests(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests(test)
        else:
            yield test


if __name__ == "__main__":
    from test import support

    support.use_resources = []
    skip = set(os.environ.pop("SKIP", "").split(","))
    module = importlib.import_module(f"test.{sys.argv[1]}")
    found = unittest.defaultTestLoader.loadTestsFromModule(module)
    unittest.TestSuite(test for test in tests(found) if test.id() not in skip).run(Lines())
    os.write(1, b"\n@@ end end\n")
    os._exit(0)
