# SPDX-License-Identifier: Apache-2.0
"""TAP of the tests with agents and package managers."""


class Tap:
    def __init__(self):
        self.number = self.failures = 0

    def ok(self, good, name, *texts):
        self.number += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}", flush=True)
        for text in () if good else texts:
            for line in str(text).splitlines()[-60:]:
                print(f"# {line!r}", flush=True)
        return good

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}", flush=True)
