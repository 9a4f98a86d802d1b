#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored policies (policy.d): they bind every run, a broken one keeps its last good version, writers do not lose
each other's changes, and what else may lie in the folder. As root, once more as an ordinary user. Prints TAP."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import broker_tap
from broker_tap import ok

CORRAL = os.path.abspath(os.environ["CORRAL"])
OPEN = "fs: {read: [/**], write: [/**]}\nnetwork: {allow: ['*:*']}\nenv: ['*']\n"
NO_FILE = OPEN.replace("write: [/**]", "write: [/**], deny: [$WORK_DIR/file]")


class Home:
    def __init__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="stored-")).resolve()
        self.work = self.place / "work"
        self.work.mkdir()
        (self.work / "file").write_text("here\n")
        self.folder = self.place / "config/corral/policy.d"
        self.history = self.place / "state/corral/policies"
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("XDG_")}, "HOME": str(self.place),
                    "XDG_CONFIG_HOME": str(self.place / "config"), "XDG_STATE_HOME": str(self.place / "state"),
                    "XDG_RUNTIME_DIR": str(self.place / "no-daemon"), "LC_ALL": "C.UTF-8"}

    def corral(self, *words, text=None):
        done = subprocess.run([CORRAL, *words], cwd=self.work, env=self.env, input=text or "", capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def json(self, *words, text=None):
        status, out, err = self.corral(*words[:2], "--json", *words[2:], text=text)
        try:
            return status, json.loads(out)
        except ValueError:
            return status, out + err

    def save(self, name, text, *more):
        return self.json("policy", "save", *more, name, "-", text=text)

    def put(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def reads(self):
        """Whether a run reads the file; None: no run starts."""
        status, out, _ = self.corral("run", "--", "cat", "file")
        return {0: out == "here\n", 1: False}.get(status)

    def end(self):
        shutil.rmtree(self.place)


def bound(h):
    ok(h.reads() is True, "without a stored policy, a run is as it was")
    ok(h.corral("policy", "list") == (0, f"no policy is stored in {h.folder}\n", ""), "there are none, and that is said", h.corral("policy", "list"))
    ok(h.corral("policy", "rules") == (0, "no rule is stored\n", ""), "nor are there rules", h.corral("policy", "rules"))
    ok(not h.history.exists(), "and looking at them leaves nothing behind")
    h.put("team.yaml", NO_FILE)
    ok(h.reads() is False, "a file in policy.d binds the next run, without a daemon")
    ok(h.corral("run", "--read", str(h.work / "file"), "--", "cat", "file")[0] == 1, "no option widens it")
    h.put("team.yaml", OPEN)
    ok(h.reads() is True, "a file that was changed by hand is in force at once")
    h.put("custom/no.json", json.dumps({"defaultAction": "allow", "rules": [
        {"id": "no", "name": "no", "action": "deny", "operations": ["file_read"], "patterns": [str(h.work / "file")], "enabled": True, "priority": 5}]}))
    ok(h.reads() is False, "rules in custom/ bind, also without default.json")
    h.put("default.json", json.dumps({"version": "1.0", "defaultAction": "allow", "rules": []}))
    ok(h.reads() is False, "and with it")
    status, found = h.json("policy", "list")
    ok(status == 0 and [p["name"] for p in found["policies"]] == ["default", "custom/no", "team"] and all(p["in_force"] for p in found["policies"])
       and [p["format"] for p in found["policies"]] == ["rules", "rules", "permissions"] and found["policies"][1]["rules"] == 1, "list", found)
    ok(h.json("policy", "check", "--stored", "no", "--op", "fs.read", "--target", str(h.work / "file"))[1]["verdict"] == "deny", "check against a stored policy")
    ok(h.corral("policy", "lint", "--stored", "team")[0] == 1, "lint, too")
    ok("policy list" in h.corral("policy", "lint", "--stored", "none")[2] and h.corral("policy", "list")[0] == 0, "of one that there is not")
    ok(h.corral("policy", "remove", "custom/no")[0] == 0 and h.reads() is True, "one that is removed binds nothing")
    shutil.rmtree(h.folder)


def broken(h):
    h.save("team", NO_FILE)
    h.put("team.yaml", "fs: {read: [/**]}\nfs2: [\n")
    status, _, err = h.corral("run", "--", "true")
    ok(status == 125 and "team.yaml:" in err, "a broken file of which nothing is known stops a run with its line", err)
    status, out, _ = h.corral("policy", "record", "--json")
    event = json.loads(out.splitlines()[-1])
    ok(status == 0 and event["state"] == "broken" and event["error"]["line"] >= 2, "record says that it is broken, with the line", out)
    status, out, err = h.corral("run", "--", "cat", "file")
    ok(status == 1 and "version 1 of it" in err, "then the last good version is in force", (status, out, err))
    status, found = h.json("policy", "list")
    ok(status == 1 and found["policies"][0]["in_force"] is False and found["policies"][0]["last_good"] == 1 and found["policies"][0]["error"]["line"],
       "list shows both", found)
    ok(h.corral("policy", "record", "--json")[1] == "", "what was said is not said again")
    h.put("team.yaml", "still: [\nbroken\n")
    ok(h.reads() is None, "another broken file that was not recorded stops runs")
    h.corral("policy", "record")
    ok(h.reads() is False, "recorded, the last good one is in force")
    h.put("team.yaml", OPEN)
    ok(h.reads() is True, "mended by hand, it is in force at once")
    ok(json.loads(h.corral("policy", "record", "--json")[1])["state"] == "in force", "and record says so")
    h.put("team.yaml", "extends: workspace\n" + NO_FILE)
    done = subprocess.run([CORRAL, "policy", "record", "--json"], cwd=h.place, env=h.env, capture_output=True, text=True, check=False)
    ok(json.loads(done.stdout)["state"] == "in force" and h.reads() is False, "a profile that cannot be used where it is recorded breaks nothing", done)
    h.put("team.yaml", OPEN.replace("fs: {", "fs: [", 1))
    h.corral("policy", "record")
    st = os.stat(h.folder / "team.yaml")
    ok(h.reads() is False, "the version with the profile is the last good one")
    h.put("team.yaml", OPEN)
    os.utime(h.folder / "team.yaml", ns=(st.st_atime_ns, st.st_mtime_ns))
    ok(h.reads() is True, "a good file is in force, though one that was noted as broken looked the same")
    h.put("team.yaml", OPEN)
    h.corral("policy", "record")
    h.put("team.yaml", "x: [")
    h.corral("policy", "record")
    ok(h.reads() is True, "the last good version is the one that was changed by hand, not the one that was saved")
    (h.folder / "team.yaml").unlink()
    ok(json.loads(h.corral("policy", "record", "--json")[1])["state"] == "removed", "a file that goes is reported")
    h.put("team.yaml", "x: [")
    h.corral("policy", "record")
    ok(h.reads() is None, "of a policy that was removed there is no last good version")
    (h.folder / "team.yaml").unlink()
    h.put("bad.yaml", "fs: {read: ['/a[']}\n")
    ok(h.reads() is None and h.corral("policy", "list")[0] == 1, "a pattern that does not compile is a broken file as well")
    (h.folder / "bad.yaml").unlink()
    shutil.rmtree(h.place / "state")


def writers(h):
    status, first = h.save("team", OPEN, "--etag", "")
    ok(status == 0 and first["etag"], "an empty etag makes a new policy", first)
    status, no = h.save("team", OPEN, "--etag", "")
    ok(status == 4 and "already" in no["error"]["text"], "and only that", no)
    status, second = h.save("team", NO_FILE, "--etag", first["etag"])
    ok(status == 0, "the first of two writers", second)
    status, no = h.save("team", OPEN + "exec: []\n", "--etag", first["etag"])
    ok(status == 4 and "changed meanwhile" in no["error"]["text"] and h.reads() is False, "the second one is refused, and changes nothing", no)
    status, no = h.save("team", "fs: {raed: [/**]}\n", "--etag", second["etag"])
    ok(status == 1 and no["error"]["line"] == 1 and "raed" in no["error"]["text"] and h.reads() is False, "a text that is no policy is refused with its line", no)
    h.put("team.yaml", OPEN)
    status, no = h.json("policy", "remove", "--etag", second["etag"], "team")
    ok(status == 4, "a change by hand is a change", no)
    status, _ = h.save("team", NO_FILE)
    ok(status == 0 and h.reads() is False, "without an etag it is written anyhow")
    status, found = h.json("policy", "history", "team")
    ok([v["by"] for v in found["history"]] == ["save", "save", "file", "save"] and found["text"] == NO_FILE and found["error"] is None,
       "the history has all of them, the one by hand as well", found)
    ok(h.json("policy", "history", "--version", "3", "team")[1]["text"] == OPEN, "and their texts")
    ok(h.json("policy", "history", "--version", "99", "team")[0] == 5 and h.json("policy", "history", "none")[0] == 5, "those that there are not")
    ok(h.corral("policy", "undo", "team")[0] == 0 and h.reads() is True, "undo: what was before")
    ok(h.corral("policy", "undo", "team")[0] == 0 and h.reads() is False, "twice: the change is back")
    ok(h.corral("policy", "undo", "--version", "1", "team")[0] == 0 and h.reads() is True, "undo to a version")
    ok(h.corral("policy", "remove", "team")[0] == 0 and not (h.folder / "team.yaml").exists(), "remove")
    ok(h.corral("policy", "remove", "team")[0] == 5, "twice")
    ok(h.corral("policy", "undo", "team")[0] == 0 and h.reads() is True, "undo brings it back")
    h.save("fresh", OPEN)
    ok(h.corral("policy", "undo", "fresh")[0] == 4, "of a first version there is nothing to undo")
    many = [subprocess.Popen([CORRAL, "policy", "save", "--etag", "", "race", "-"], cwd=h.work, env=h.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, text=True) for _ in range(8)]
    for i, p in enumerate(many):
        p.stdin.write(OPEN + f"# {i}\n")
        p.stdin.close()
    ok(sorted(p.wait(60) for p in many) == [0] + [4] * 7, "of eight writers at once one wins", [p.returncode for p in many])
    for i in range(60):
        h.save("race", OPEN + f"# again {i}\n")
    found = h.json("policy", "history", "race")[1]["history"]
    ok(len(found) <= 51 and found[-1]["version"] == 61, "the history is bounded", len(found))
    ok(all(p.stat().st_mode & 0o077 == 0 for p in [h.history, *h.history.rglob("*"), *h.folder.rglob("*")]), "all of it is for its owner alone")
    shutil.rmtree(h.folder)


def linked_folder(h, linked):
    """The folder is a link to one that commands may write: they add no policy to it all the same."""
    real = h.work / "linked"
    shutil.move(linked, real)
    linked.symlink_to(real)
    custom = real if linked.name == "custom" else real / "custom"
    rule = {"id": "x", "name": "x", "operations": ["file_read"], "patterns": [str(h.work / "file")], "enabled": True}
    (custom / "no.json").write_text(json.dumps({"defaultAction": "allow", "rules": [{**rule, "action": "deny", "priority": 5}]}))
    ok(h.reads() is False, f"{linked.name} as a link: it is read")
    yes = json.dumps({"rules": [{**rule, "id": "y", "action": "allow", "priority": 999}]})
    status, _, err = h.corral("run", "--write", f"{h.work}/**", "--", "sh", "-c", f"echo '{yes}' > {custom}/yes.json")
    ok(status != 0 and not (custom / "yes.json").exists() and h.reads() is False, f"{linked.name} as a link: a command adds no policy", err)
    (custom / "no.json").unlink()
    linked.unlink()
    shutil.move(real, linked)


def hostile(h):
    secret = h.place / "secret"
    secret.write_text(OPEN)
    for name in ("../x", "..", "", "/etc/passwd", "custom/../../x", ".hidden", "a/b", "custom/", "x\ny", "x" * 65, "<script>", "--help", "é"):
        status, out = h.json("policy", "save", "--", name, "-", text=OPEN)
        ok(status == 1 and out["error"], f"a name that is none: {name[:20]!r}", (status, out))
        for verb in ("history", "remove", "undo"):
            status, out = h.json("policy", verb, "--", name)
            ok(status == 5, f"{verb}: {name[:20]!r}", (status, out))
    ok(not (h.place / "config/corral/x.yaml").exists() and sorted(p.name for p in h.place.iterdir() if p.name.startswith("x")) == [], "nothing was written elsewhere")
    (h.folder / "custom").mkdir(parents=True)
    (h.folder / "link.yaml").symlink_to(secret)
    status, found = h.json("policy", "history", "link")
    ok(found["text"] is None and "symbolic link" in found["error"]["text"], "a link is not followed for its text", found)
    status, out = h.save("link", NO_FILE)
    ok(status == 1 and "symbolic link" in out["error"]["text"] and secret.read_text() == OPEN, "and not written through", out)
    ok(h.corral("policy", "remove", "link")[0] == 0 and secret.exists(), "removed, it is the link that goes")
    os.mkfifo(h.folder / "custom/fifo.json")
    status, found = h.json("policy", "list")
    ok(status == 1 and "regular file" in found["policies"][0]["error"]["text"] and h.reads() is None, "a FIFO blocks no reader, and is broken", found)
    status, out = h.save("custom/fifo", json.dumps({"rules": []}))
    ok(status == 1, "nor is it replaced", out)
    (h.folder / "custom/fifo.json").unlink()
    with open(h.folder / "custom/huge.json", "wb") as f:
        f.truncate(5 << 20)
    ok("larger than 4 MiB" in h.json("policy", "list")[1]["policies"][0]["error"]["text"], "a huge file")
    (h.folder / "custom/huge.json").unlink()
    status, out, err = h.corral("policy", "save", "big", "-", text="# " + "x" * (5 << 20))
    ok(status == 2 and "larger" in err and not (h.folder / "big.yaml").exists(), "a huge text is not stored", err)
    for linked in (h.folder, h.folder / "custom"):
        linked_folder(h, linked)
    (h.folder / "custom/d.json").mkdir()
    ok("regular file" in h.json("policy", "list")[1]["policies"][0]["error"]["text"], "a folder")
    (h.folder / "custom/d.json").rmdir()
    evil = json.dumps({"defaultAction": "allow", "rules": [{"id": "<img src=x onerror=alert(1)>", "name": "\u001b[2J</script>", "action": "deny", "operations": ["exec"],
                                                             "patterns": ["no-such"], "enabled": True, "priority": 1}]})
    status, out = h.save("evil", evil)
    ok(status == 0 and h.json("policy", "history", "evil")[1]["text"] == evil, "texts stay texts", out)
    status, out, _ = h.corral("policy", "list")
    ok("\x1b" not in out, "and do not reach a terminal", out)
    h.put("e\x1bvil.yaml", "x: [")
    ok("\x1b" not in h.corral("policy", "list")[1], "nor does a name")
    shutil.rmtree(h.folder)
    # Inside a sandbox with the same uid, even one that may write all of the home.
    h.save("team", OPEN)
    for target in (h.folder / "team.yaml", h.folder / "new.yaml", h.history / "team.yaml/seen", h.history / "team.yaml/00000001.save"):
        done = h.corral("run", "--write", str(h.place) + "/**", "--", "sh", "-c", f"echo x >>'{target}'")
        ok(done[0] != 0 and (not target.exists() or "x" not in target.read_text().splitlines()), f"a command cannot write {target.name}", done)


KINDS = {
    "a dangling link": lambda p: p.symlink_to("/nowhere/at/all"),
    "a link to itself": lambda p: p.symlink_to(p.name),
    "a FIFO": os.mkfifo,
    "a socket": lambda p: socket.socket(socket.AF_UNIX).bind(p.name),  # in its folder: a long path has no room
    "a device": lambda p: p.symlink_to("/dev/zero"),
}


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def stops(h, path, what, *words):
    """A run does not start, and says which file is at fault; then it starts without it."""
    status, _, err = h.corral("run", "--", "true")
    ok(status == 125 and str(path) in err and all(w in err for w in words), f"{what} stops a run, by name", (status, err))
    remove(path)
    ok(h.reads() is True, f"{what} was all that stopped it", h.corral("run", "--", "true"))


def unreadable(h):
    """What exists under the name of a policy, or of a folder of them, and is none."""
    config = h.folder.parent
    for path in (config / "policy.yaml", h.folder, h.folder / "custom", h.folder / "team.yaml", h.folder / "custom/x.json", config, config.parent):
        for kind, make in {**KINDS, "a folder": pathlib.Path.mkdir, "a file": pathlib.Path.touch}.items():
            is_folder = path in (config.parent, config, h.folder, h.folder / "custom")
            if is_folder and kind == "a folder":
                continue
            # An empty file is an error of the grammar, which others test. Below what is no folder nothing can be.
            if kind == "a file" and not is_folder or path == config.parent and kind not in ("a dangling link", "a link to itself"):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.rmtree(path)
            os.chdir(path.parent)
            make(path)
            stops(h, path, f"{path.relative_to(h.place)} as {kind}")
    os.chdir(h.work)
    ok(h.reads() is True, "a home without any of them starts a run")
    h.put("x.yaml", OPEN)
    os.chmod(h.folder, 0o300)
    if os.geteuid() != 0:
        status, _, err = h.corral("run", "--", "true")
        ok(status == 125 and "policy.d: cannot be read" in err, "a folder that cannot be listed", err)
    os.chmod(h.folder, 0o700)
    shutil.rmtree(h.folder)


def misnamed(h):
    """What looks like a policy and is not read stops a run; what is none does not."""
    config = h.folder.parent
    for name, to in (("policy.yml", "policy.yaml"), ("policy.json", "policy.d/policy.json"), ("POLICY.YAML", "policy.yaml"), ("policies.yaml", "policy.yaml"),
                     ("policy.d/x.YAML", "policy.d/x.yaml"), ("policy.d/x.Yml", "policy.d/x.yml"), ("policy.d/x.JSON", "policy.d/x.json"),
                     ("policy.d/custom/x.yaml", "policy.d/x.yaml"), ("policy.d/custom/x.JSON", "policy.d/x.json")):
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NO_FILE)
        hint = f"mv {path} {config / to}"
        listed = h.json("policy", "list")
        ok(listed[0] == 1 and listed[1]["ignored"] == [{"path": str(path), "hint": hint}], f"{name}: list", listed)
        ok(f"{path} is not read, and stops every run" in h.corral("policy", "list")[1], f"{name}: list says it", h.corral("policy", "list"))
        stops(h, path, name, "looks like a policy and is not read", hint)
        if name == "policy.yml":
            path.write_text(NO_FILE)
            subprocess.run(["sh", "-c", hint], check=True)
            ok(h.reads() is False, "renamed as the line says, it binds")
            (config / to).unlink()
    for name in ("policies.d", "Policy.d", "policy.d/Custom"):
        path = config / name
        path.mkdir(parents=True)
        stops(h, path, name, "looks like a policy")
    for name in ("policy.yaml~", ".policy.yaml.swp", "policy.yaml.bak", "#policy.yaml#", "policy.yaml.dpkg-dist", "policy.txt", "README", "daemon.yml.off", "policy-draft.yaml",
                 "policy.d/x.yaml~", "policy.d/.x.yaml.swp", "policy.d/x.yaml.rpmsave", "policy.d/README", "policy.d/README.md", "policy.d/x.off", "policy.d/custom/x.json~"):
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("no policy: [")
        ok(h.reads() is True and h.corral("policy", "list")[0] == 0, f"{name} stops nothing", h.corral("run", "--", "true"))
    # As emacs locks a file that is edited.
    (h.folder / ".#x.yaml").symlink_to("user@host.1:2")
    ok(h.reads() is True, "nor does a lock of an editor")
    shutil.rmtree(config)


def profiles(h):
    folder = h.folder.parent / "profiles"
    folder.mkdir(parents=True)
    os.chdir(folder)
    for kind, make in KINDS.items():
        make(folder / "mine.yaml")
        status, _, err = h.corral("run", "--profile", "mine", "--", "true")
        ok(status == 125 and str(folder / "mine.yaml") in err, f"a profile as {kind} stops its run, by name", (status, err))
        remove(folder / "mine.yaml")
    os.chdir(h.work)
    for name in ("mine.yml", "mine.YAML", "mine.json"):
        (folder / name).write_text(OPEN)
        status, _, err = h.corral("run", "--profile", "mine", "--", "true")
        ok(status == 125 and f"{folder / name}: looks like the profile mine" in err and "mine.yaml" in err, f"{name} is named", (status, err))
        (folder / name).unlink()
    (folder / "mine.yaml").write_text("extends: workspace\n")
    ok(h.corral("run", "--profile", "mine", "--", "true")[0] == 0, "and mine.yaml is the profile", h.corral("run", "--profile", "mine", "--", "true"))
    shutil.rmtree(folder)


def modes(h):
    """Told apart by what a rule denies, by what nothing grants, and by the log."""
    policy = OPEN.replace("write: [/**]", "write: [/**], deny: [$WORK_DIR/file]").replace("['*:*']", "['198.51.100.7:*'], deny: ['198.51.100.7:443']") + "exec: [cat, bash, timeout]\n"
    config = h.place / "config/corral/daemon.json"
    ok(h.save("team", policy)[0] == 0, "a policy that denies a file, and grants some programs and one host")

    def log(*words):
        path = h.place / "log.db"
        h.corral("run", "--net", "198.51.100.7:443", "--audit", str(path), "--", *words)
        _, out, _ = h.corral("audit", "list", "--json", str(path))
        for old in h.place.glob("log.db*"):
            old.unlink()
        return [r for r in map(json.loads, out.splitlines()) if "would be denied" in (r.get("reason") or "")]

    def tried():
        return h.reads(), h.corral("run", "--", "ls")[0], [(r["action"], os.path.basename(r["target"]), r["decision"]) for r in log("ls")]

    connect = ("timeout", "5", "bash", "-c", "exec 3<>/dev/tcp/198.51.100.7/443")
    ok(tried() == (False, 126, []), "enforce, the default: both are blocked", tried())
    err = h.corral("run", "--", "ls")[2]
    ok(re.search(f"deny   {re.escape(str(h.folder))}/team.yaml\n {{22}}nothing in exec grants it", err), "a layer with a long name has its reason below", err)
    config.write_text(json.dumps({"daemon": {"mode": "enforce"}}))
    ok(tried() == (False, 126, []), "enforce: the same", tried())
    ok(log(*connect) == [], "and a host that a rule denies is denied, not let pass")
    config.write_text(json.dumps({"daemon": {"mode": "audit"}}))
    ok(tried() == (False, 0, [("exec", "ls", "allowed")]), "audit: what a rule denies is blocked; what nothing grants is let pass, and recorded", tried())
    config.write_text(json.dumps({"daemon": {"mode": "monitor"}}))
    ok(tried() == (True, 0, [("exec", "ls", "allowed")]), "monitor: what is denied passes, and it is recorded", tried())
    status, out, err = h.corral("run", "--", "true")
    ok("mode monitor: what these policies deny passes" in err and "not of files" in err, "a run says that it is only watched, and what is not seen", err)
    ok(h.json("policy", "list")[1]["mode"] == "monitor", "list has the mode")
    found = log(*connect)
    ok([(r["action"], r["target"], r["decision"]) for r in found] == [("net.connect", "198.51.100.7:443", "allowed")], "a host is recorded as well", found)
    h.put("team.yaml", policy + "mode: monitor\n")
    config.write_text(json.dumps({"daemon": {"mode": "enforce"}}))
    ok(tried()[:2] == (False, 126), "the configuration's mode counts, not that of a file")
    config.write_text("{}")
    ok(tried()[:2] == (True, 0), "without one, each file has its own")
    config.write_text("{ broken")
    ok(tried()[:2] == (False, 126), "a configuration that cannot be read makes nothing wider: enforce")
    config.unlink()
    (h.place / ".ssh").mkdir()
    (h.place / ".ssh/id_rsa").write_text("secret\n")
    config.write_text(json.dumps({"daemon": {"mode": "monitor"}}))
    ok("secret" not in h.corral("run", "--read", str(h.place) + "/**", "--", "cat", str(h.place / ".ssh/id_rsa"))[1], "the baseline holds in each mode")
    h.put("custom/rules.json", '{"version": "1.0", "defaultAction": "allow", "rules": []}')
    err = h.corral("run", "--read", str(h.place / ".ssh/id_rsa"), "--", "true")[2]
    ok("custom/rules.json does not allow it either, and its format cannot lift the baseline" in err and "/custom/rules.json, " not in err
       and '"] to ' + str(h.folder / "team.yaml") in err, "a line is suggested only for a file that can have it", err)
    (h.folder / "custom/rules.json").unlink()


def rules(h):
    """Rules one by one: what is refused names the file that was given, and what a rule does less than it seems to is said."""
    push = {"id": "no-push", "action": "deny", "operations": ["exec"], "patterns": ["git push*"]}
    for name, text, wanted in (("word.json", json.dumps({**push, "action": "ask"}), "word.json: `action`: `ask` is not one of deny, approval, allow"),
                               ("key.json", json.dumps({**push, "x": 1}), "key.json:1:"), ("none.json", "{id: x}", "none.json:1:2: expected a key")):
        (h.work / name).write_text(text)
        status, out, err = h.corral("policy", "rules", "--add", name)
        ok((status, out) == (1, "") and err.startswith("corral: " + wanted), f"a rule that is refused: {name}", (status, out, err))
    status, _, err = h.corral("policy", "rules", "--add", "-", text="{")
    ok(status == 1 and err.startswith("corral: standard input:1:"), "standard input has a name, too", err)
    helped = h.corral("policy", "rules", "--help")[1]
    ok(all(word in helped for word in ("approval", "http_request", "file_list", "secret_inject", "filesystem")), "--help has the words for action, operations and target", helped)
    (h.work / "rule.json").write_text(json.dumps(push))
    status, out, err = h.corral("policy", "rules", "--add", "rule.json")
    note = "enforced for the command but not for its child processes"
    ok(status == 0 and "added, and in force" in out and err == f"corral: custom/rules:no-push: {note}\n", "what a rule does not do is said", (out, err))
    for change, notes in (({"patterns": ["curl:*"]}, []), ({"patterns": ["git push*"]}, [note]), ({"enabled": False}, [])):
        status, answer = h.json("policy", "rules", "--change", "custom/rules:no-push", "-", text=json.dumps(change))
        ok(status == 0 and answer["notes"] == notes, f"and in the notes: {change}", answer)
    h.corral("policy", "rules", "--add", "-", text=json.dumps({**push, "id": "other"}))
    ok(h.json("policy", "rules", "--change", "custom/rules:no-push", "-", text='{"priority": 3}')[1]["notes"] == [], "but not of another rule")
    for words, wanted in ((["--remove", "custom/team:curl"], "no rule `custom/team:curl`"), (["--remove", "custom/rules:curl"], "no rule `custom/rules:curl`"),
                          (["--policy", "nope"], "no policy `nope`")):
        status, out, err = h.corral("policy", "rules", *words)
        ok((status, out) == (5, "") and wanted in err, f"what is not there, by its name: {words}", (status, out, err))
    ok(h.corral("policy", "rules", "--policy", "rules")[1].count("custom/rules:") == 2, "a policy is found by its short name as elsewhere")
    status, out, _ = h.corral("policy", "rules", "--remove", "custom/rules:other")
    ok((status, out) == (0, "custom/rules:other: removed, and no run from now on has it\n"), "one that is removed", out)
    h.put("custom/rules.json", json.dumps({"rules": [{**push, "action": "no"}]}))
    status, _, err = h.corral("policy", "rules", "--add", "-", text=json.dumps({**push, "id": "good"}))
    ok(status == 1 and "custom/rules.json: " in err and "mend the policy first" in err, "what was wrong in the policy before is the policy's", err)


def main():
    for part in (bound, broken, unreadable, misnamed, profiles, modes, writers, hostile, rules):
        h = Home()
        try:
            part(h)
        finally:
            os.chdir("/")
            h.end()
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, ("CORRAL",))
    return broker_tap.end()


sys.exit(main())
