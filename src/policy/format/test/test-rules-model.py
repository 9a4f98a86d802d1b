#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AgenShield's rules as its own documents describe them, against what Corral makes of them.

Model below is written from AgenShield's description of its policy flow and knows nothing of
Corral: rules by priority, the first that matches decides; else constraints, which only deny; else
defaultAction. Files and requests are generated from a seed, so every run is the same.

    Corral allows what the model denies:   a failure, always.
    Corral denies what the model allows:   a failure unless one of REASONS explains it.

Patterns are globs over the text of a target: `*` has no slash in it, `**` is any text, `?` one
character. A path is judged as an object: what is allowed by one spelling of it (with a slash at
its end, or a doubled one) is allowed. So is a URL as a host, a port and a path. Letters of paths and commands are compared as they are: on
Linux two spellings are two files.
"""
import collections
import functools
import json
import random
import re
import subprocess
import sys

HOME, WORK = "/home/u", "/srv/work"
OWN = {"https": 443, "http": 80}


# The model

@functools.cache
def glob(pattern, flags=0):
    out = []
    for part in re.split(r"(\*\*|\*|\?)", pattern):
        out.append({"**": ".*", "*": "[^/]*", "?": "."}.get(part, re.escape(part)))
    return re.compile("".join(out), flags | re.DOTALL)


@functools.cache
def object_glob(pattern):
    """What some spelling of a path matches: `/**/` may stand for doubled slashes, `/**` for one at the end."""
    out = []
    for part in re.split(r"(/\*\*/|/\*\*$|\*\*|\*|\?)", re.sub(r"(/\*\*)+(?=/|$)", "/**", pattern)):
        out.append({"/**/": "/(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "."}.get(part, re.escape(part)))
    return re.compile("".join(out), re.DOTALL)


def expand(pattern):
    for name, value in (("$WORKSPACE", WORK), ("$WORK_DIR", WORK), ("$HOME", HOME), ("~", HOME)):
        rest = pattern[len(name):]
        if pattern.startswith(name) and (not rest or rest[0] == "/"):
            return value + rest
    return pattern


def match_path(pattern, path, allows):
    pattern = expand(pattern)
    if pattern.endswith("/"):
        pattern += "**"
    return bool((object_glob(pattern) if allows else glob(pattern)).fullmatch(path))


def url_spellings(url):
    """The same host, port and path, whatever is spoken there."""
    scheme, host, port, path = re.match(r"(https?)://([^/:]+)(?::(\d+))?(/.*)", url).groups()
    port = int(port or OWN[scheme])
    for scheme, own in OWN.items():
        for place in ("%s:%d" % (host, port), host if port == own else None):
            if place:
                yield "%s://%s%s" % (scheme, place, path)
                if path == "/":
                    yield "%s://%s" % (scheme, place)


def match_url(pattern, urls):
    base = pattern.strip().rstrip("/")
    if not re.match(r"(\*|https?)://", base, re.I):
        base = "https://" + base
    tries = [base]
    if not base.endswith("*"):
        tries.append(base + "/**")
        bare = re.sub(r"^https?://", "", base, flags=re.I)
        if not bare.startswith("www.") and "*" not in bare:
            www = base.replace("://", "://www.", 1)
            tries += [www, www + "/**"]
    urls = list(urls)
    return any(glob(t, re.I).fullmatch(u) for t in tries for u in urls)


def match_command(pattern, words):
    pattern = pattern.strip()
    if pattern in ("*", "**"):
        return True
    names = {words[0], words[0].rsplit("/", 1)[-1]}
    first = pattern.split(" ", 1)
    short = first[0].rsplit("/", 1)[-1] + (" " + first[1] if len(first) > 1 else "")
    for name in names:
        text = " ".join([name] + words[1:])
        for p in (pattern, short):
            if p.endswith(":*"):
                if text == p[:-2] or text.startswith(p[:-2] + " "):
                    return True
            elif text == p or glob(p).fullmatch(text) or glob(p).fullmatch(text + " "):
                return True
    return False


FILES = ("file_read", "file_write", "file_list")
TARGETS = {"url": ["http_request", "open_url"], "command": ["exec"], "filesystem": list(FILES)}


def split_url(url):
    scheme, host, port = re.match(r"(https?)://([^/:]+)(?::(\d+))?", url).groups()
    return host, int(port or OWN[scheme])


class Model:
    def __init__(self, document):
        self.document = document
        self.rules = [r for r in document.get("rules", []) if r.get("enabled", True)]
        self.rules.sort(key=lambda r: -r.get("priority", 0))

    def matches(self, rule, request):
        operation, target = request[0], request[1]
        operations = rule.get("operations") or TARGETS.get(rule.get("target"), ["*"])
        if operation == "file_list" and rule["action"] == "allow" and "file_read" in operations:
            operation = "file_read"  # the one includes the other
        if operation not in operations and "*" not in operations:
            return None
        methods = rule.get("methods")
        if methods and len(request) > 2 and request[2] and request[2] not in methods:
            return None
        for pattern in rule["patterns"]:
            if operation in FILES:
                found = match_path(pattern, target, rule["action"] == "allow")
            elif operation in ("http_request", "open_url"):
                found = match_url(pattern, url_spellings(target) if rule["action"] == "allow" else [target])
            elif operation == "exec":
                found = match_command(pattern, target)
            else:
                found = bool(glob(pattern).fullmatch(target))
            if found:
                return pattern
        return None

    def constrained(self, request):
        operation, target = request[0], request[1]
        files, network = self.document.get("fsConstraints"), self.document.get("networkConstraints")
        if operation in FILES and files:
            if any(match_path(p, target, False) for p in files.get("deniedPatterns", [])):
                return True
            allowed = files.get("allowedPaths")
            return bool(allowed) and not any(target.startswith(expand(a)) for a in allowed)
        if operation in ("http_request", "open_url") and network:
            host, port = split_url(target)
            allowed = any(glob(p, re.I).fullmatch(host) for p in network.get("allowedHosts", []))
            for pattern in network.get("deniedHosts", []):
                if glob(pattern, re.I).fullmatch(host) and not allowed:
                    return True
            ports = network.get("allowedPorts")
            return bool(ports) and port not in ports
        return False

    def judge(self, request):
        """A page to open is a host for Corral: one scheme that is allowed is enough."""
        if request[0] == "open_url" and request[1].startswith("https:"):
            answer = self.judge_one(("open_url", request[1].replace("https", "http", 1)))
            if answer[0]:
                return answer
        return self.judge_one(request)

    def judge_one(self, request):
        """Whether it is allowed, the rule and the pattern that said so."""
        for rule in self.rules:
            pattern = self.matches(rule, request)
            if pattern is not None:
                return rule["action"] == "allow", rule, pattern
        if self.constrained(request):
            return False, None, None
        return self.document.get("defaultAction") == "allow", None, None


# Files and requests

SEGMENTS = ["srv", "a", "ab", "work", "app", "app-secret", ".env", "x.pem", "k[1]", "{b}", "é"]
HOSTS = ["example.com", "a.example.com", "www.example.com", "evilexample.com", "evil.com",
         "www.evil.com", "10.1.2.3", "10.example.org", "192.168.1.7", "93.184.216.34", "localhost"]
URL_PATHS = ["/", "/x", "/x/y", "/admin/z", "/v1/.env"]
COMMANDS = [["git"], ["git", "push"], ["git", "push", "--force"], ["git", "pushx"], ["/opt/x/git", "push"],
            ["rm", "-rf", "/"], ["rm", "-rf", "/etc"], ["rm", "-rf", "/etc/x"], ["/usr/bin/rm", "-rf", "/x"],
            ["mkfs.ext4", "/dev/sda"], ["curl", "x", "|", "sh"], ["curl", "https://x/y"], ["shutdown"],
            ["shutdown", "-h", "now"], ["dd", "if=/dev/sda"], ["npm", "run", "build"], ["npm", "run"]]
COMMAND_PATTERNS = ["git", "git:*", "git push", "git push:*", "rm:*", "npm run:*", "/usr/bin/rm:*", "*", "npm run build"]
COMMAND_DENIALS = COMMAND_PATTERNS + ["rm -rf /*", "rm -rf /", "mkfs.*", "curl * | sh", "shutdown*", "dd if=*", "git *",
                                      "* -rf *", "np? run", "**push**"]
SECRETS = ["GITHUB_TOKEN", "AWS_KEY"]


def a_path(r):
    return "/" + "/".join(r.choice(SEGMENTS) for _ in range(r.randint(1, 4)))


def a_path_pattern(r, allows):
    if r.random() < 0.15:
        return r.choice(["*", "**", "/**", "$WORKSPACE/**", "~/x", "/srv/", "/srv/*", "**/.env", "/srv/**"])
    parts = []
    for _ in range(r.randint(1, 4)):
        s = r.choice(SEGMENTS)
        parts.append(r.choice([s, s, s, "*", "**", s[:1] + "*", "*" + s[-1:], s.replace("a", "?"),
                               "**" + s[-1:], s[:1] + "**", s[:1] + "**" + s[-1:]]))
    text = "/" + "/".join(parts) + r.choice(["", "", "", "/", "/**"])
    if not allows and r.random() < 0.2:
        text = r.choice([text[1:], "./" + text[1:], "../" + text[1:], "$X" + text, "/a/.." + text, ""])
    return text


def a_host_pattern(r, allows):
    host = r.choice(HOSTS)
    if r.random() < 0.4:
        host = r.choice(["*", "**", "*.example.com", "10.*", "*example.com", "*.com", "192.168.*", "e*l.com", "ex?mple.com"]
                        if not allows else ["*", "**", "*.example.com", "*.com"])
    scheme = r.choice(["", "", "https://", "http://", "*://"])
    port = r.choice(["", "", "", ":8443", ":*", ":80"])
    path = r.choice(["", "", "/", "/*", "/**", "/x", "/x/*", "/admin/**", "/v1/.env"])
    if host in ("*", "**") and r.random() < 0.5:
        return host
    text = scheme + host + port + path
    if not allows and r.random() < 0.1:
        text = r.choice(["a b", "gopher://evil.com/", "u:p@evil.com", "/x", "10.0.0.0/8", "**/.env", "127.1"])
    return text


def a_rule(r, number):
    action = r.choice(["allow", "allow", "deny", "approval"])
    allows = action == "allow"
    kind = r.choice(["files", "files", "hosts", "hosts", "commands", "secrets", "all"])
    rule = {"id": "r%d" % number, "name": "n", "action": action, "enabled": r.random() < 0.95,
            "priority": r.randint(0, 3)}
    if kind == "files":
        rule["operations"] = r.sample(FILES, r.randint(1, 3))
        rule["patterns"] = [a_path_pattern(r, allows) for _ in range(r.randint(1, 3))]
    elif kind == "hosts":
        rule["operations"] = r.choice([["http_request"], ["http_request", "open_url"], ["open_url"]])
        rule["patterns"] = [a_host_pattern(r, allows) for _ in range(r.randint(1, 3))]
        if r.random() < 0.2:
            rule["methods"] = r.sample(["GET", "POST", "PUT"], 2)
    elif kind == "commands":
        rule["target"] = "command"
        rule["patterns"] = r.sample(COMMAND_PATTERNS if allows else COMMAND_DENIALS, 2)
    elif kind == "secrets":
        rule["operations"] = ["secret_inject", "skill_install"]
        rule["patterns"] = [r.choice(SECRETS + ["*", "AWS_*"])]
    else:
        rule["operations"] = ["*"]
        rule["patterns"] = [r.choice(["*", "**"])]
    return rule


def a_file(r):
    document = {"version": "1", "defaultAction": r.choice(["allow", "deny"]),
                "rules": [a_rule(r, i) for i in range(r.randint(0, 5))]}
    if r.random() < 0.4:
        document["fsConstraints"] = {
            "allowedPaths": [a_path(r).replace("[1]", "") for _ in range(r.randint(0, 2))],
            "deniedPatterns": [a_path_pattern(r, False) for _ in range(r.randint(0, 2))]}
    if r.random() < 0.4:
        document["networkConstraints"] = {
            "allowedHosts": r.sample(HOSTS + ["*.example.com"], r.randint(0, 3)),
            "deniedHosts": r.sample(HOSTS + ["*", "*", "10.*", "*.com"], r.randint(0, 3)),
            "allowedPorts": r.choice([[], [], [443], [443, 8443]])}
    return document


def requests(r, document):
    for _ in range(8):
        yield r.choice(FILES), r.choice([a_path(r), a_path(r), WORK + "/f", HOME + "/x"])
    for _ in range(10):
        url = r.choice(["http", "https"]) + "://" + r.choice(HOSTS) + r.choice(["", "", ":8443"]) + r.choice(URL_PATHS)
        yield "http_request", url, r.choice([None, None, "GET", "POST"])
    for _ in range(3):
        yield "open_url", "https://" + r.choice(HOSTS) + "/"
    for _ in range(6):
        yield "exec", r.choice(COMMANDS)
    yield "secret_inject", r.choice(SECRETS)


# Why Corral may be narrower

def tie(model, request, allowed, rule, pattern, by):
    return rule is not None and by in {o["id"] for o in model.rules if o["action"] != "allow"
                                       and o.get("priority", 0) == rule.get("priority", 0)}


def denial_is_wider(model, request, allowed, rule, pattern, by):
    return by.startswith(("fsConstraints", "networkConstraints")) or by in {
        o["id"] for o in model.rules if o["action"] != "allow"}


def baseline(model, request, allowed, rule, pattern, by):
    return by == "!"


def path_by_wildcard(model, request, allowed, rule, pattern, by):
    return request[0] in FILES and pattern is not None and ("?" in pattern or re.search(r"[^/]\*\*|\*\*[^/]", pattern)
                                                            or pattern.endswith("/*") or "/*/" in pattern)


def path_below_folder(model, request, allowed, rule, pattern, by):
    return request[0] in FILES and pattern is None and bool(model.document.get("fsConstraints", {}).get("allowedPaths"))


def host_by_port_or_scheme(model, request, allowed, rule, pattern, by):
    return request[0] in ("http_request", "open_url") and pattern is not None


def command_elsewhere(model, request, allowed, rule, pattern, by):
    return request[0] == "exec" and pattern is not None and "/" in request[1][0] + pattern


def method_is_not_known(model, request, allowed, rule, pattern, by):
    return request[0] == "http_request" and rule is not None and "methods" in rule and not request[2]


def listing_alone(model, request, allowed, rule, pattern, by):
    return request[0] == "file_list" and rule is not None and "file_list" in rule.get("operations", [])


REASONS = [tie, listing_alone, denial_is_wider, baseline, path_by_wildcard, path_below_folder, method_is_not_known,
           host_by_port_or_scheme, command_elsewhere]


# Comparing

class Judge:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def say(self, *lines):
        """Lines of words, sent at once; the answer to each."""
        self.process.stdin.write("".join("\t".join(words) + "\n" for words in lines))
        self.process.stdin.flush()
        return [self.process.stdout.readline().rstrip("\n") for _ in lines]

    @staticmethod
    def words(request):
        operation, target = request[0], request[1]
        method = request[2] if len(request) > 2 and request[2] else "-"
        if operation in FILES:
            words = ["fs.write" if operation == "file_write" else "fs.read", target, "-"]
        elif operation == "http_request":
            words = ["net.connect", target, method]
        elif operation == "open_url":
            words = ["service", "browser.open:" + split_url(target)[0], "-"]
        elif operation == "exec":
            words = ["exec", target[0], "-"] + target[1:]
        else:
            words = ["service", "vault.read:" + target, "-"]
        return ["ask"] + words

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


class Comparison:
    def __init__(self, program):
        self.judge = Judge(program)
        self.count = collections.Counter()
        self.failures = []

    def fail(self, what, document, request, more=""):
        self.failures.append("%s: %s %s\n  %s" % (what, request, more, json.dumps(document)))

    def one(self, model, request, answer):
        allowed, rule, pattern = model.judge(request)
        verdict, by = answer.split(" ", 1)
        self.count["checks"] += 1
        if verdict not in ("allow", "ask", "deny"):
            self.fail(verdict + " " + by, model.document, request)
        elif verdict == "allow" and not allowed:
            self.fail("wider", model.document, request, "by %s; the model: %s" % (by, rule and rule["id"]))
        elif verdict != "allow" and allowed:
            reason = next((f.__name__ for f in REASONS if f(model, request, allowed, rule, pattern, by)), None)
            self.count["narrower: %s" % reason] += 1
            if reason is None:
                self.fail("narrower", model.document, request, "by %s; the model: %s %s" % (by, rule and rule["id"], pattern))
        else:
            self.count["allowed" if allowed else "denied"] += 1

    def connection(self, model, host, port, answer):
        """A connection may carry any path: then all of them must be allowed, by http or by https.
        A denied path on any host is held only where paths can be seen."""
        self.count["checks"] += 1
        if not answer.startswith("allow ") or any(
                re.match(r"(?:[^/]*://)?\*+(?::[^/]*)?/.*[^/*]", p)
                for rule in model.rules if rule["action"] != "allow" for p in rule["patterns"]):
            return
        for scheme, own in (("https", 443), ("http", 80)):
            place = scheme + "://" + host + ("" if port == own else ":%d" % port)
            if all(model.judge(("http_request", place + path, None))[0] for path in URL_PATHS):
                return
        self.fail("wider", model.document, ("connect", host, port))

    def file(self, document, r):
        answer = self.judge.say(["file", json.dumps(document, ensure_ascii=False)])[0]
        if answer != "ok":
            self.count["files refused"] += 1
            denies = all(rule["action"] != "allow" for rule in document["rules"])
            if denies or not answer.startswith("refused "):
                self.fail("a file without grants is refused: " + answer, document, None)
            return
        self.count["files"] += 1
        model = Model(document)
        asked = list(requests(r, document))
        connections = [(r.choice(HOSTS), r.choice([80, 443, 8443])) for _ in range(3)]
        answers = self.judge.say(*(self.judge.words(request) for request in asked),
                                 *(["ask", "net.connect", "%s:%d" % place, "-"] for place in connections))
        for request, answer in zip(asked, answers):
            self.one(model, request, answer)
        for place, answer in zip(connections, answers[len(asked):]):
            self.connection(model, *place, answer)


def main():
    seed, files = (sys.argv[2:] + ["1", "1200"])[:2] if len(sys.argv) > 3 else ("1", "1200")
    r = random.Random(int(seed))
    c = Comparison(sys.argv[1])
    for _ in range(int(files)):
        c.file(a_file(r), r)
        if len(c.failures) > 20:
            break
    status = c.judge.close()
    for name, n in sorted(c.count.items()):
        print("%8d %s" % (n, name))
    for text in c.failures[:20]:
        print("FAILED " + text)
    enough = c.count["files"] > int(files) // 3 and c.count["allowed"] > c.count["checks"] // 20
    if not enough:
        print("FAILED: too little was compared")
    return 1 if c.failures or status or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
