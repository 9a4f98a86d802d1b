#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral import: settings of srt, Claude Code, Codex and nono as a policy that grants no more, and a note for all else."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CORRAL = os.path.abspath(os.environ["CORRAL"])
SECONDS = 60
number = failures = 0
scratch = pathlib.Path(tempfile.mkdtemp(prefix="corral-import-"))
home, work = scratch / "home", scratch / "work"


def ok(passed, name, *details):
    global number, failures
    number += 1
    failures += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    for detail in () if passed else details:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def corral(*words, cwd=None):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    return subprocess.run([CORRAL, *words], cwd=cwd or work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS)


def take(name, text, *options):
    (work / name).write_text(text)
    run = corral("import", "--json", *options, name)
    if run.returncode:
        return {}, [], run
    result = json.loads(run.stdout)
    return result["policy"], [note["text"] for note in result["notes"]], run


def noted(notes, *words):
    return any(all(word in note for word in words) for note in notes)


SRT = """{
  "network": {
    "allowedDomains": ["github.com", "*.npmjs.org:443"],
    "deniedDomains": ["malicious.com"],
    "allowUnixSockets": ["/var/run/docker.sock"]
  },
  "filesystem": {
    "denyRead": ["~/.ssh", ".env"],
    "allowWrite": [".", "/tmp", "~/kept"],
    "denyWrite": ["settled.txt", "config/production.json"]
  },
  "ignoreViolations": {"*": ["/usr/bin"]},
  "unheardOf": true
}"""

CLAUDE = """{
  // As people write it.
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Read(~/datasets/**)", "WebFetch(domain:docs.example.org)", "mcp__github"],
    "ask": ["WebFetch(domain:example.com)"],
    "deny": ["Read(.env)", "Read(**/*.key)", "Bash(base64:*)", "Bash(rm -rf *)", "Edit(/settled.txt)"],
    "additionalDirectories": ["~/kept"],
  },
  "sandbox": {"enabled": true, "excludedCommands": ["docker"], "network": {"allowedDomains": ["github.com"]}},
  "env": {"COLOUR": "green", "API_KEY": "value-of-the-key"},
}"""

CODEX = """
sandbox_mode = "read-only"
profile = "work"
[sandbox_workspace_write]
writable_roots = ["~/kept"]
network_access = true
[shell_environment_policy]
include_only = ["PATH", "LC_*"]
set = { CI = "1", GH_TOKEN = "value-of-the-token" }
[profiles.work]
sandbox_mode = "workspace-write"
[profiles.look]
sandbox_mode = "read-only"
"""

CODEX_PERMISSIONS = """
default_permissions = "dev"
[permissions.dev.filesystem]
":root" = "read"
"/srv/data" = "read"
[permissions.dev.filesystem.":workspace_roots"]
"." = "write"
".env" = "deny"
[permissions.dev.network.domains]
"api.github.com" = "allow"
"*.example.net" = "deny"
"""

NONO = """{
  "extends": "claude-code",
  "workdir": {"access": "readwrite"},
  "filesystem": {"allow": ["$HOME/kept"], "read": [{"path": "/opt/m", "when": "macos"}, "$XDG_CONFIG_HOME/app"],
    "deny": ["$WORKDIR/.env"]},
  "network": {"allow_domain": ["api.example.com", {"domain": "api.example.org", "endpoints": []}], "listen_port": [8080]},
  "environment": {"allow_vars": ["PATH", "*"], "set_vars": {"A": "b"}},
  "commands": {"deny": ["base64"]},
}"""


def test_srt():
    policy, notes, run = take("srt.json", SRT)
    fs, net = policy.get("fs", {}), policy.get("network", {})
    ok(policy.get("extends") == "workspace" and fs.get("write") == ["$HOME/kept/**"], "srt: what may be written",
       run.stdout, run.stderr)
    ok(net.get("allow") == ["*.npmjs.org:443", "github.com:*"] and net.get("deny") == ["malicious.com:*"], "srt: hosts", net)
    ok(fs.get("deny") == ["$HOME/.ssh/**", "$WORK_DIR/.env"], "srt: what may not be read", fs)
    ok(policy["rules"][0]["patterns"] == ["$WORK_DIR/settled.txt"], "srt: what may not be written", policy.get("rules"))
    ok(noted(notes, "/tmp", "of its own") and noted(notes, "config/production.json", "is not denied") and
       noted(notes, "docker.sock") and noted(notes, "unheardOf") and noted(notes, "reading is not open"), "srt: notes", notes)
    policy, _, _ = take("narrow.json", '{"filesystem": {"allowWrite": [], "denyRead": []}}')
    ok(policy == {"extends": "readonly"}, "srt: a project that may not be written stays so", policy)


def test_claude():
    policy, notes, run = take("claude.json", CLAUDE)
    fs = policy.get("fs", {})
    ok(fs.get("write") == ["$HOME/kept/**"] and fs.get("read") == ["$HOME/datasets/**"] and
       fs.get("deny") == ["$WORK_DIR/.env"], "Claude Code: files", run.stdout, run.stderr)
    ok(policy.get("network", {}).get("allow") == ["docs.example.org:*", "github.com:*"], "Claude Code: hosts", policy)
    rules = {rule["id"]: rule["patterns"] for rule in policy.get("rules", [])}
    ok(rules == {"imported-ask-net.connect": ["example.com:*"], "imported-deny-exec": ["base64"],
                 "imported-deny-fs.write": ["$WORK_DIR/settled.txt"]}, "Claude Code: rules", rules)
    ok(noted(notes, "*.key", "is not denied") and noted(notes, "rm -rf", "is not denied") and noted(notes, "npm run test") and
       noted(notes, "docker") and noted(notes, "mcp__github"), "Claude Code: notes", notes)
    ok(policy.get("env") in (["COLOUR=green"], {"COLOUR": "green"}) and "value-of-the-key" not in run.stdout,
       "Claude Code: variables, and no secret", policy.get("env"))


def test_claude_tools():
    """A tool that is denied as a whole: what other lines grant of its kind is not granted."""
    policy, notes, run = take("tools.json", """{"permissions": {"allow": ["Edit(~/kept/**)", "WebFetch(domain:a.example)", "Read(~/datasets/**)"],
        "deny": ["Edit", "WebFetch", "Read"], "additionalDirectories": ["~/kept"]}, "sandbox": {"network": {"allowedDomains": ["b.example"]}}}""")
    ok(policy == {"extends": "readonly"}, "Claude Code: tools that are denied take their grants back", run.stdout, run.stderr)
    ok(noted(notes, "`Edit`", "as a whole") and noted(notes, "`WebFetch`", "as a whole"), "and it is said", notes)


def test_codex():
    policy, notes, run = take("config.toml", CODEX)
    ok(policy.get("extends") == "workspace" and policy["fs"]["write"] == ["$HOME/kept/**"], "Codex: the profile that it names",
       run.stdout, run.stderr)
    ok("network" not in policy and noted(notes, "whole network"), "Codex: the network is not opened as a whole", policy)
    ok("value-of-the-token" not in run.stdout and "CI=1" in str(policy.get("env")) and "LC_*" in str(policy.get("env")),
       "Codex: variables, and no secret", policy.get("env"))
    policy, _, _ = take("config.toml", CODEX, "--profile", "look")
    ok(policy.get("extends") == "readonly" and "fs" not in policy, "Codex: another profile", policy)
    policy, notes, run = take("permissions.toml", CODEX_PERMISSIONS)
    ok(policy.get("fs") == {"read": ["/srv/data/**"], "deny": ["$WORK_DIR/.env"]} and
       policy.get("network") == {"allow": ["api.github.com:*"], "deny": ["*.example.net:*"]} and noted(notes, ":root"),
       "Codex: permission profiles", run.stdout, run.stderr)
    policy, notes, _ = take("full.toml", 'sandbox_mode = "danger-full-access"\n')
    ok(policy == {"extends": "readonly"} and noted(notes, "full access"), "Codex: full access is not taken over", policy)


def test_nono():
    policy, notes, run = take("nono.jsonc", NONO)
    ok(policy.get("fs") == {"read": ["$HOME/.config/app/**"], "write": ["$HOME/kept/**"],
                            "deny": ["$WORK_DIR/.env"]}, "nono: files", run.stdout, run.stderr)
    ok(policy.get("network") == {"allow": ["api.example.com:*", "api.example.org:*"], "listen": ["8080"]} or
       policy.get("network") == {"allow": ["api.example.com:*", "api.example.org:*"], "listen": [8080]}, "nono: hosts and ports", policy)
    ok(policy.get("exec") == ["/**"] and policy["rules"][0]["patterns"] == ["base64"], "nono: a denied program", policy)
    ok(noted(notes, "base profile") and noted(notes, "/opt/m", "some systems") and noted(notes, "not all variables"), "nono: notes", notes)


def test_held():
    """What was imported is held by a run."""
    for name, program in (("srt.json", False), ("claude.json", True), ("permissions.toml", False), ("nono.jsonc", True)):
        imported = corral("import", name)
        (work / "policy.yaml").write_text(imported.stdout)
        run = corral("run", "--policy", "policy.yaml", "--", "sh", "-c",
                     "cat .env; echo x >> settled.txt; echo made > made.txt; base64 made.txt; cat ../home/secret; echo end")
        ok(imported.returncode == 0 and "end" in run.stdout and "SECRET" not in run.stdout, f"{name}: the policy runs, secrets stay",
           imported.stderr, run.stdout, run.stderr)
        ok((work / "made.txt").exists(), f"{name}: the project can be written", run.stderr)
        ok((work / "settled.txt").read_text() == "settled\n" or name in ("permissions.toml", "nono.jsonc"),
           f"{name}: a file that may not be written", run.stderr)
        ok(("bWFkZQo=" not in run.stdout) == program, f"{name}: a program that may not run", run.stdout)
        (work / "made.txt").unlink(missing_ok=True)
        (work / "settled.txt").write_text("settled\n")


def suggested(note):
    """The line of a policy that a note says to add."""
    return re.search(r"add (\w+: \{.*\})", note).group(1)


def test_suggested():
    """Lines that notes suggest are added as they stand, and help."""
    subprocess.run(["git", "init", "-q", str(work / "repository")], check=True, timeout=SECONDS, env={"PATH": "/usr/bin:/bin", "HOME": str(home)})
    text = '{"filesystem": {"allowWrite": ["."], "denyRead": [], "allowGitConfig": true}, "network": {"allowedDomains": ["*"], "allowLocalBinding": true}}'
    policy, notes, _ = take("lines.json", text)
    lines = [suggested(note) for note in notes if " add " in note]
    ok(len(lines) == 3, "three lines are suggested", notes)
    (work / "repository/base.yaml").write_text(json.dumps(policy))
    command = ("run", "--policy", "base.yaml", "--cwd", ".", "--", "git", "config", "user.name", "x")
    run = corral(*command, cwd=work / "repository")
    ok(run.returncode != 0, "git's settings cannot be written", run.stdout, run.stderr)
    write = next(line for line in lines if line.startswith("fs:"))
    (work / "repository/more.yaml").write_text(write.replace("$WORK_DIR", str(work / "repository")) + "\n")
    merged = corral("policy", "merge", "base.yaml", "more.yaml", cwd=work / "repository")
    (work / "repository/base.yaml").write_text(merged.stdout)
    run = corral(*command, cwd=work / "repository")
    ok(run.returncode == 0, "with the line they can", merged.stderr, run.stdout, run.stderr)
    for line in (line for line in lines if not line.startswith("fs:")):
        (work / "line.yaml").write_text(line.replace("PORT", "8080") + "\n")
        run = corral("policy", "check", "--policy", "line.yaml", "--op", "net.connect", "--target", "example.com:443")
        ok(run.returncode == (0 if "allow" in line else 1), f"{line} is read, and means that", run.stdout, run.stderr)


def test_suggested_roots():
    """Further roots of Codex: the line of the note, with the folder, lets it be written."""
    text = 'default_permissions = "dev"\n[permissions.dev.filesystem]\n"/srv" = "read"\n[permissions.dev.workspace_roots]\n"/srv/more" = true\n'
    _, notes, run = take("roots.toml", text)
    lines = [suggested(note) for note in notes if "further roots" in note]
    ok(len(lines) == 1, "further roots are noted, with a line", notes, run.stderr)
    (work / "line.yaml").write_text(lines[0].replace("FOLDER", f"{home}/kept/**") + "\n")
    run = corral("policy", "check", "--policy", "line.yaml", "--op", "fs.write", "--target", f"{home}/kept/x")
    ok(run.returncode == 0, "with it the folder may be written", run.stdout, run.stderr)


def test_lint():
    """What is printed passes lint, but for what the file itself grants: of that there is a note. Notes are in the order of lines."""
    corpora = [("srt.json", SRT), ("claude.json", CLAUDE), ("config.toml", CODEX), ("permissions.toml", CODEX_PERMISSIONS), ("nono.jsonc", NONO),
               ("variables.toml", CODEX_VARIABLES), ("variables-all.toml", CODEX_VARIABLES + "ignore_default_excludes = true\n"),
               ("narrow.toml", CODEX_NARROW)]
    stored = pathlib.Path(__file__).resolve().parent.parent / "data/fuzz/import"
    names = (".json", ".json", ".toml", ".json")
    corpora += [(f"fuzz-{file.name}{names[int(text[0])]}", text[1:]) for file in sorted(stored.iterdir()) if (text := file.read_text())[:1] in "0123"]
    ok(len(corpora) >= 13, "the corpora are there", stored)
    for name, text in corpora:
        (work / name).write_text(text)
        result = json.loads(corral("import", "--json", name).stdout)
        lines = [note["line"] for note in result["notes"]]
        ok(lines == sorted(lines), f"{name}: notes are in the order of lines", lines)
        (work / "policy.yaml").write_text(corral("import", name).stdout)
        run = corral("policy", "lint", "--json", "policy.yaml")
        left = [found for found in json.loads(run.stdout)["findings"] if found["severity"] != "note"]
        ok(all(noted([note["text"] for note in result["notes"]], f"`{found['pattern']}` is granted, as the file says", found["text"]) and
               found["id"] in ("deferred-execution", "env-secret") and "$WORK_DIR" not in found["pattern"] + found["hint"] for found in left),
           f"{name}: lint finds no more than the file grants, and a note says it", left, result["notes"])


def test_refused():
    cases = (("empty.json", "{}", "is no settings file"), ("README.md", "# Read me\n", "settings of srt, Claude Code and nono are JSON"),
             ("list.json", "[]", "is no settings file"),
             ("broken.json", '{"network": ', "broken.json:1:"), ("twice.toml", "model = 1\nmodel = 2\n", "twice.toml:2:"),
             ("both.json", '{"sandbox": {}, "workdir": {}}', "say which with --format"))
    for name, text, says in cases:
        (work / name).write_text(text)
        run = corral("import", name)
        ok(run.returncode == 2 and says in run.stderr and not run.stdout, f"{name} is refused with a sentence", run.stdout, run.stderr)
    for name, text, profile, says in (("config.toml", CODEX, "zz", "no profile `zz`"), ("srt.json", SRT, "work", "--profile is for Codex")):
        _, _, run = take(name, text, "--profile", profile)
        ok(run.returncode == 2 and says in run.stdout, f"{name}: --profile {profile} is refused", run.stdout, run.stderr)
    (work / "config.txt").write_text(CODEX)
    run = corral("import", "config.txt")
    ok(run.returncode == 2 and "--format codex" in run.stderr, "settings of Codex under another name", run.stderr)
    run = corral("import", "--format", "codex", "config.txt")
    ok(run.returncode == 0 and "extends: workspace" in run.stdout, "what is suggested helps", run.stdout, run.stderr)
    run = corral("import", "absent.json")
    ok(run.returncode == 2 and "absent.json" in run.stderr, "a file that is not there", run.stderr)


def test_hostile():
    """Grants that lie: the whole machine, the home, climbing, patterns in names, text that writes lines of its own."""
    policy, notes, _ = take("wide.json", '{"filesystem": {"allowWrite": ["/", "~", "~/", "../..", "$ELSE/x", "a*b", "/**"]}}')
    ok(policy.get("fs") == {"write": ["$WORK_DIR/a\\*b/**", "/\\*\\*/**"]},
       "wide grants become notes, patterns are names", policy, notes)
    # However it is spelt, and by a link. As names, and as patterns.
    os.symlink(home, work / "to-home")
    at = str(home)
    whole = ["~/.", "~//", "~/./", "~/x/..", "/.", "//", "/./", "$HOME/.", "${HOME}//.", at, at + "/", at + "/.", "/" + at, os.path.dirname(at),
             str(work / "to-home"), str(work / "to-home") + "/."]
    policy, notes, _ = take("spelt.json", json.dumps({"filesystem": {"allowWrite": whole, "allowRead": whole}}))
    n = sum("not granted as a whole" in note or "`..`" in note for note in notes)
    ok("fs" not in policy and n == len(whole) * 2, "no spelling grants the home or the machine", policy, notes)
    whole = ["~/**", "~/*", "~/**/*", "~/./**", "~//*/**", "~/{.,x}/**", "~/{x,*}", "//**", "//*", "//*/*/**", "/" + at + "/**", "/" + at + "/*"]
    policy, notes, _ = take("settings.json", json.dumps({"permissions": {"allow": [f"Read({p})" for p in whole] + ["Edit(~/**)"]}}))
    n = sum("not granted as a whole" in note for note in notes)
    ok(policy.get("fs") in (None, {"write": ["$WORK_DIR/**"]}) and n == len(whole) + 1, "nor does a pattern", policy, notes)
    policy, notes, _ = take("less.json", json.dumps({"filesystem": {"allowWrite": ["~/./a//b/.", "~/a/", "./x/./y", "/srv//data"]}}))
    ok(policy.get("fs") == {"write": ["$HOME/a/**", "$HOME/a/b/**", "$WORK_DIR/x/y/**", "/srv/data/**"]}, "less is granted, in its normal form", policy, notes)
    text = '{"network": {"allowedDomains": ["x\\ndangerously_allow: [/**]", "*"]}, "x\\nfs: {write: [/**]}": 1}'
    (work / "lines.json").write_text(text)
    run = corral("import", "lines.json")
    lines = run.stdout.splitlines()
    ok(not any(line.startswith(("dangerously_allow", "fs:")) for line in lines) and "allow:" not in run.stdout.split("extends")[1],
       "text of the file stays in its comment", run.stdout)
    (work / "deep.json").write_text('{"sandbox": ' + "[" * 100000)
    ok(corral("import", "deep.json").returncode == 2, "a file nested too deep is refused")
    (work / "many.json").write_text(json.dumps({"filesystem": {"denyRead": [], "allowWrite": ["../x"] * 5000}}))
    run = corral("import", "--json", "many.json")
    ok(run.returncode == 0 and len(json.loads(run.stdout)["notes"]) <= 200, "notes are bounded", run.stderr)


CODEX_VARIABLES = """
sandbox_mode = "workspace-write"
[shell_environment_policy]
include_only = ["*", "?*", "PATH", "LC_*", "AWS_*", "NPM_*", "APP_*", "my_Api_Key", "GH_TOKEN", "EDITOR", "PATH=/evil"]
exclude = ["aws_se*", "ED?TOR"]
"""

CODEX_NARROW = """
default_permissions = "dev"
[sandbox_workspace_write]
writable_roots = ["~/kept"]
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem]
"~/shared" = "write"
"HOME/shared/kept.txt" = "read"
"~/shared/closed.txt" = "deny"
"~/shared/absent.txt" = "read"
[permissions.dev.filesystem.":workspace_roots"]
"settled.txt" = "read"
[permissions.dev.network]
enabled = false
domains = { "api.github.com" = "allow" }
"""


def test_variables():
    """What a file passes on by a pattern, and takes out again, stays out."""
    env_rule = "imported-deny-env"
    policy, notes, run = take("variables.toml", CODEX_VARIABLES)
    ok(policy.get("env") == ["APP_*", "LC_*", "PATH"], "Codex: patterns that exclusions meet, secrets and `*` are not granted", policy, run.stderr)
    ok([rule["id"] for rule in policy.get("rules", [])] == [env_rule] and noted(notes, "`*`", "not all variables") and
       noted(notes, "`NPM_*`", "NPM_CONFIG_SCRIPT_SHELL") and noted(notes, "`AWS_*`", "excludes") and noted(notes, "`EDITOR`", "excludes") and noted(notes, "GH_TOKEN", "secret"),
       "Codex: notes, and a rule beside a pattern", policy, notes)
    (work / "policy.yaml").write_text(json.dumps(policy))
    shown = subprocess.run([CORRAL, "run", "--policy", "policy.yaml", "--", "env"], cwd=work, capture_output=True, text=True, timeout=SECONDS,
                           env={"PATH": "/usr/bin:/bin", "HOME": str(home), "APP_TOKEN": "SECRET", "APP_COLOUR": "green", "LC_key": "SECRET",
                                "AWS_SECRET_ACCESS_KEY": "SECRET"})
    ok("APP_COLOUR=green" in shown.stdout and "SECRET" not in shown.stdout, "a run holds it", shown.stdout, shown.stderr)
    policy, _, _ = take("variables.toml", CODEX_VARIABLES + "ignore_default_excludes = true\n")
    ok(policy.get("env") == ["APP_*", "GH_TOKEN", "LC_*", "PATH", "my_Api_Key"] and "rules" not in policy, "Codex: without its own exclusions", policy)
    for line, names in (('inherit = "none"', None), ('inherit = "core"', ["PATH"]), ('filters = { "X" = "exclude" }', None)):
        policy, _, _ = take("variables.toml", CODEX_VARIABLES + line + "\n")
        ok(policy.get("env") == names, f"Codex: {line}", policy)
    text = {"workdir": {}, "environment": {"allow_vars": ["AWS_*", "LC_*", "GH_TOKEN", "NAME", "*"], "deny_vars": ["AWS_SECRET*", {"name": "NAME", "when": "x"}]}}
    policy, notes, _ = take("variables.json", json.dumps(text))
    ok(policy.get("env") == ["GH_TOKEN", "LC_*"] and noted(notes, "`AWS_*`", "excludes") and noted(notes, "`NAME`", "excludes"),
       "nono: what deny_vars takes out is not granted", policy, notes)


def test_narrow():
    """What a profile of Codex takes away from a wider grant is denied."""
    shared = home / "shared"
    shared.mkdir()
    for name in ("kept.txt", "closed.txt", "open.txt"):
        (shared / name).write_text("as it was\n")
    text = CODEX_NARROW.replace("HOME", str(home))
    policy, notes, run = take("narrow.toml", text)
    ok("network" not in policy and noted(notes, "network is off"), "Codex: a network that is off takes no hosts", policy)
    ok(policy.get("fs", {}).get("write") == ["$HOME/shared/**"] and noted(notes, "sandbox_workspace_write"),
       "Codex: writable_roots do not count beside default_permissions", policy, run.stderr)
    ok(noted(notes, "absent.txt", "is not denied"), "Codex: what does not exist cannot be denied", notes)
    (work / "policy.yaml").write_text(json.dumps(policy))
    run = corral("run", "--policy", "policy.yaml", "--", "sh", "-c",
                 f"for f in {shared}/kept.txt {shared}/closed.txt {shared}/open.txt settled.txt; do echo x > $f; done; cat {shared}/kept.txt")
    ok([(shared / name).read_text() for name in ("kept.txt", "closed.txt", "open.txt")] == ["as it was\n", "as it was\n", "x\n"] and
       (work / "settled.txt").read_text() == "settled\n" and "as it was" in run.stdout, "Codex: read and deny below write are held", policy, run.stderr)
    for entry in ('":workspace_roots" = "read"', '":workspace_roots" = { "." = "read" }', '":cwd" = "deny"'):
        text = f'default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n[permissions.dev.filesystem]\n{entry}\n'
        policy, _, run = take("narrow.toml", text)
        ok(policy.get("extends") == "readonly" and "write" not in policy.get("fs", {}), f"Codex: {entry} narrows :workspace", policy, run.stderr)


def test_denials_are_listed():
    """However many notes there are, a denial that is not taken over is among them."""
    text = {"sandbox": {}, "permissions": {"allow": [f"mcp__tool{i}" for i in range(250)], "deny": ["Read(**/*.key)", "Bash(rm -rf *)"]}}
    _, notes, run = take("tools.json", json.dumps(text))
    ok(noted(notes, "*.key", "is not denied") and noted(notes, "rm -rf", "is not denied") and len(notes) < 250, "denials are never left out",
       notes[-3:], run.stderr)
    text["permissions"]["deny"] = [f"Bash(rm {i} *)" for i in range(2001)]
    _, _, run = take("tools.json", json.dumps(text))
    ok(run.returncode == 2 and "more denials" in run.stderr and "\"policy\"" not in run.stdout, "more than can be listed are refused", run.stdout[:200], run.stderr)


try:
    home.mkdir()
    work.mkdir()
    (home / "kept").mkdir()
    (home / "secret").write_text("SECRET\n")
    (work / ".env").write_text("KEY=SECRET\n")
    (work / "settled.txt").write_text("settled\n")
    for test in (test_srt, test_claude, test_claude_tools, test_codex, test_nono, test_lint, test_held, test_suggested, test_suggested_roots, test_refused, test_hostile, test_variables,
                 test_narrow, test_denials_are_listed):
        test()
    print(f"1..{number}")
finally:
    shutil.rmtree(scratch)
sys.exit(1 if failures else 0)
