# SPDX-License-Identifier: Apache-2.0
"""What tools/survey counts beyond a single file: mechanisms that exist several times, cycles of calls, names defined twice.

Every count is made from the text of the sources, tests apart, by rules that stand here. They miss what is hidden by
macros; they are compared with themselves over time (tools/ratchets.conf), not with other projects.
"""

import collections
import json
import re

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
WORD = re.compile(r"\b[a-z_]\w*(?=\s*[(,;)}])")
TAG = re.compile(r"^(?:struct|enum|union)\s+(\w+)\s*\{", re.MULTILINE)
# A loop waits for more than one descriptor.
WAIT = re.compile(r"\bepoll_p?wait\(|\bp?poll\(\s*[^,]+,(?!\s*[01]\b)[^,]+,")
POLLFD = re.compile(r"\(struct pollfd\)\{[^}]*\}")
# Their poll() has a fixed order of two or three descriptors, which a loop would hide.
FIXED = {"src/warden/zygote.c", "src/warden/init.c", "src/warden/bare.c"}
START = re.compile(r"\b(?:posix_spawnp?|fork|vfork|execvpe?|execve|execveat|clone)\(|\bSYS_clone3?\b")
# Outside src/jail, which has the mechanisms: what confines a process of ours, or a command.
CONFINE = re.compile(r"\b(?:inert|landlock|seccomp|privilege|confine)_(?:enter|close|restrict|load|install|drop)\w*\(|"
                     r"PR_SET_NO_NEW_PRIVS|SYS_seccomp")
# A key with its colon, or the name of one that is filled in, in a text of the program. Whole values without anything
# filled in are data, and examples in messages are prose: json_by_hand() takes them away first.
JSON = re.compile(r'"[\w$%]+"\s*:')
TEXTS = re.compile(STRING.pattern + r"(?:\s*" + STRING.pattern + ")*")
# It looks for the start of a message that cannot be read, and writes nothing.
READS = {"src/services/browser/cdp.c"}
# The row of a table of typed fields: it begins with the field's name. One that begins with a struct schema_field has that row.
FIELD_ROW = re.compile(r"^struct \w*(?:_field|_key|options_row) \{\s*const char \*name;", re.MULTILINE)
# It takes the messages of a peer apart: it receives from a socket, and has a buffer `in` for what came of them, or a header
# with a magic number. What commands send to others (src/net, src/inject,
# src/sshagent) and what the kernel sends is not counted.
RECEIVE = re.compile(r"\brecv(?:msg)?\(")
FRAME = re.compile(r"(?:->|\.)in\b(?=[.,;) ])|->magic\b")
NOT_FRAMED = ("src/net/", "src/inject/", "src/postgres/", "src/sshagent/", "src/jail/")
OPERATIONS = {"fs.read", "fs.write", "net.connect", "exec", "env", "service"}
# The names themselves; the actions of the log, which has more of them and is a stored format; the lists of a policy.
NAMED = {"src/policy/operation-names.c", "src/audit/event.c", "src/policy/operation.c", "src/advice/lint/entry.c"}
NEAR = 8  # lines that a list of operations may have


def bare(text):
    return COMMENT.sub(" ", text)


def strings(text):
    return STRING.findall(bare(text))


def files_with(pattern, texts):
    found = []
    for path, text in texts.items():
        body = POLLFD.sub("", bare(text))
        if pattern.search(STRING.sub('""', body)):
            found.append(path)
    return found


def framings(texts):
    found = set(files_with(RECEIVE, texts)) & set(files_with(FRAME, texts))
    return [path for path in found if not path.startswith(NOT_FRAMED)]


def without_whole_json(text):
    """The text without JSON objects and lists that stand in it as they are."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in "{[":
            try:
                end = decoder.raw_decode(text, at)[1]
            except ValueError:
                end = at
            if end > at and "%" not in text[at:end]:
                text = text[:at] + text[end:]
                continue
        at += 1
    return text


def json_by_hand(texts):
    """Files outside src/codec/ with texts that are parts of JSON."""
    found = []
    for path, text in texts.items():
        whole = ["".join(s[1:-1] for s in STRING.findall(t)) for t in TEXTS.findall(bare(text))]
        whole = [re.sub(r"\\(.)", r"\1", t) for t in whole if '\\"' in t]
        if not path.startswith("src/codec/") and any(JSON.search(without_whole_json(t)) for t in whole):
            found.append(path)
    return found


def operation_copies(texts, own):
    """Files other than `own` that list three or more names of operations close to each other."""
    found = []
    for path, text in texts.items():
        lines = [OPERATIONS.intersection(s.strip('"') for s in STRING.findall(line)) for line in bare(text).split("\n")]
        if path not in own and any(len(set().union(*lines[i:i + NEAR])) >= 3 for i in range(len(lines))):
            found.append(path)
    return found


def double_tags(texts):
    places = collections.defaultdict(set)
    for path, text in texts.items():
        for tag in TAG.findall(bare(text)):
            places[tag].add(path)
    return {tag: sorted(at) for tag, at in places.items() if len(at) > 1}


def calls(texts, functions):
    """Which .c file uses functions of which: exported names only, found as words outside strings and comments."""
    owner = {}
    for path, names in functions.items():
        for name in names:
            owner.setdefault(name, path)
    graph = {}
    for path, text in texts.items():
        if path.endswith(".c"):
            words = set(WORD.findall(STRING.sub('""', bare(text))))
            graph[path] = {owner[word] for word in words if word in owner and owner[word] != path}
    return graph


def cycles(graph):
    """Strongly connected components of more than one file (Tarjan, without recursion), largest first."""
    index, low, on, stack, found = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            step = next((n for n in rest if n in graph and (n not in index or n in on)), None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    if len(group) > 1:
                        found.append(sorted(group))
            elif step in index:
                low[node] = min(low[node], index[step])
            else:
                index[step] = low[step] = len(index)
                stack.append(step)
                on.add(step)
                work.append((step, iter(sorted(graph[step]))))
    return sorted(found, key=len, reverse=True)


def measure(texts, exported):
    """texts: path -> source; exported: path -> names of its functions that are not static. Name -> (count, places)."""
    groups = cycles(calls(texts, exported))
    tags = double_tags(texts)
    return {
        "loops": listed([p for p in files_with(WAIT, texts) if p not in FIXED]),
        "starts": listed(files_with(START, texts)),
        "confinements": listed([p for p in files_with(CONFINE, texts) if not p.startswith("src/jail/")]),
        "json-by-hand": listed([p for p in json_by_hand(texts) if p not in READS]),
        "framings": listed(framings(texts)),
        "field-tables": listed([p for p in files_with(FIELD_ROW, texts) if p.endswith(".h")]),
        "operation-copies": listed(operation_copies(texts, NAMED)),
        "files-in-cycles": (sum(map(len, groups)), [" ".join(group) for group in groups]),
        "largest-cycle": (len(groups[0]) if groups else 0, groups[0] if groups else []),
        "double-tags": (len(tags), [f"{tag}: {' '.join(at)}" for tag, at in sorted(tags.items())]),
    }


def listed(found):
    return len(found), sorted(found)
