# SPDX-License-Identifier: Apache-2.0
"""Ways around the list of hosts, and the stage on which they are tried.

An attack is a function that is given a Stage. Most are one call of held(): a command that, bare,
reaches something, and inside must not. What the servers logged decides, and what the command saw;
what it says about itself does not.
"""

import collections
import re

from scene import SECONDS

Attack = collections.namedtuple("Attack", "name function")
ALL = []


def attack(name):
    def add(function):
        ALL.append(Attack(name, function))
        return function
    return add


class Stage:
    """What went wrong is in `wrong`, as sentences."""

    def __init__(self, scene, servers, bare_only):
        self.scene, self.servers, self.bare_only = scene, servers, bare_only
        self.wrong, self.results = [], []

    # -- running something --

    def run(self, head, run, net=None, seconds=SECONDS, **more):
        mark = len(self.servers.log)
        result = self.scene.run(run, net, seconds, **more)
        self.results.append((head, result))
        return result, self.servers.since(mark)

    def expect(self, condition, sentence):
        if not condition:
            self.wrong.append(sentence)

    def bare(self, run, server=None, see=None, query=None, **more):
        """It has an effect: else that it has none inside says nothing."""
        result, events = self.run("bare", run, **more)
        self.judge_bare(result, events, server, see, query)

    def judge_bare(self, result, events, server, see, query):
        self.expect(reached(result, events, server, see, query), "it has no effect bare")

    def inside(self, run, net, server=None, see=None, query=None, control=None, record=None,
               seconds=SECONDS, **more):
        """It is held. control: what shows that what was granted went well. record: is told of."""
        if self.bare_only:
            return None
        result, events = self.run("inside", run, net, seconds, **more)
        self.expect(not result.late, f"it does not end within {seconds} s")
        self.expect(result.status not in (125, 126, 127), "Corral did not run it")
        self.expect(not reached(result, events, server, see, query), "it got through")
        for text in [control] if isinstance(control, str) else control or ():
            self.expect(text in result.out, f"not in the output: {text!r}")
        for text in [record] if isinstance(record, str) else record or ():
            self.expect(any(text in f"{d.target} {d.reason}" for d in result.denials),
                        f"no record of a denial names {text}")
        return result

    def held(self, run, net, server=None, see=None, query=None, **more):
        if server or query:  # the log does not say who came
            self.bare(run, server, see, query)
            return self.inside(run, net, server, see, query, **more)
        process = self.scene.start(run)  # the output of each decides, so they may be at it at once
        result = self.inside(run, net, see=see, **more)
        self.judge_bare(self.finish_bare(process), (), None, see, None)
        return result

    def finish_bare(self, process):
        result = self.scene.finish(process)
        self.servers.settle()  # so that nothing of it is logged in the next run
        self.results.append(("bare", result))
        return result

    def works(self, run, net, see):
        """As bare, inside: what must go on working."""
        process = self.scene.start(run)
        inside = None if self.bare_only else self.run("inside", run, net)[0]
        bare = self.finish_bare(process)
        self.expect(bare.status == 0 and see in bare.out, "it does not work bare")
        if self.bare_only:
            return
        self.expect((inside.status, inside.out) == (bare.status, bare.out), "it differs inside")
        self.expect(not inside.denials, "told of a denial")


def reached(result, events, server, see, query):
    """server: one that no process may reach. see: in the output. query: a name that was asked for."""
    # That a connection is over may be logged in the next run: it came in its own.
    if server and any(event.server == server and event.what != "gone" for event in events):
        return True
    if query and any(event.what == "query" and re.search(query, event.text) for event in events):
        return True
    return bool(see and see in result.out)


def tool(*verbs):
    """The words for inside/attack.py: each argument is a verb with its own, as one text."""
    words = ["/usr/bin/python3", "{pub}/attack.py"]
    for verb in verbs:
        words += verb.split(" ") + ["+"]
    return words[:-1]


# Each adds its own to ALL, in this order.
from attacks import names, addresses, fronting, sockets, ends, load  # noqa: E402,F401
