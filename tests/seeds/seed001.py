# SPDX-License-Identifier: Apache-2.0
"""Seed 001, omega-sandbox: modes that confine what a whole agent writes."""

from table import Seed, declined, differs, section, works

WRITES = ("corral run --mode sandbox --data-dir ~/.omega -- sh -c 'mkdir -p ~/.omega/skills/a && echo x >~/.omega/skills/a/f && echo data: yes; "
          "echo x >/tmp/$TEMP_NAME && echo tmp: yes; echo x >~/.claude/f && echo claude: yes; echo x >~/elsewhere || echo elsewhere: no; "
          "head -n 1 /etc/os-release; node -p 6*7; pwd'; ls /tmp/$TEMP_NAME; rm -f /tmp/$TEMP_NAME")
SEATBELT = "corral profile seatbelt --mode sandbox --data-dir ~/.omega"
NAMES = "seed-host name sandbox name rx name rwx name Rx"
PROMPTS = "seed-host prompt sandbox ~/.omega prompt rx ~/.omega prompt rwx ~/.omega"
SEEN = ("mkfifo go; corral run --mode sandbox --data-dir ~/.omega -- cat go & for i in $(seq 1000); do corral ps | grep -q cat && break; sleep 0.02; done; "
        "corral ps --json; echo done >go; wait")

CONFIGURED = ("c=~/.config/corral/daemon.json; mkdir -p ~/.config/corral; corral run --data-dir ~/.omega -- sh -c 'echo x >~/elsewhere || echo elsewhere: no'; "
              "printf '{\"sandbox\": {\"mode\": \"rwx\"}}' >$c; corral run --data-dir ~/.omega -- sh -c 'echo x >~/elsewhere && echo elsewhere: yes'; printf '{\"sandbox\": {\"mode\": \"write\"}}' >$c; corral run --data-dir ~/.omega -- true; rm $c ~/elsewhere")
SEED = Seed("001", "omega-sandbox", [
    section("Purpose, Two-Layer Enforcement, Permitted Directories"),
    works("mode `sandbox`", WRITES, "data: yes", "elsewhere: no"),
    works("mode `rx`", "corral run --mode rx --data-dir ~/.omega -- sh -c 'echo x >~/.omega/rx && echo data: yes; echo x >~/elsewhere || echo elsewhere: no'",
          "data: yes", "elsewhere: no"),
    works("mode `rwx` is a plain command", "corral run --mode rwx -- sh -c 'echo anywhere >~/rwx && cat ~/rwx'", "the command is not confined", "anywhere"),
    works("the data folder may be written, with all below", WRITES, "data: yes"),
    works("`/tmp` of the host may be written", WRITES, "tmp: yes", "/tmp/seed-"),
    works("`~/.claude` may be written", WRITES, "claude: yes"),
    works("writing elsewhere fails", WRITES, "elsewhere: no"),
    works("the system and the node runtime can be read", WRITES, "NAME=", "\n42\n"),
    section("Configuration Surface"),
    works("`display_name` is `sandbox`, `rx` or `rwx`", NAMES, "name: sandbox\nname: rx\nname: rwx\n"),
    works("`prompt_constraint` for each mode, none for `rwx`", PROMPTS, "prompt 0: You work inside a sandbox. Your folder is ",
          "prompt 0: You may read files and run programs everywhere", "/prompt 0: \\n$/"),
    works("names of modes are lower case", NAMES, "name: rwx\nname: Invalid argument\n"),
    works("configuration key `sandbox.mode`, by default `sandbox`", CONFIGURED, "elsewhere: no", "the command is not confined", "elsewhere: yes", "`sandbox` must be a map with `mode` alone"),
    section("Platform Dispatch, Modules, Workspace Integration Points"),
    works("Seatbelt profile: allow all, deny `file-write*`, then the data folder, `/private/tmp`, `/private/var/folders`, `~/.claude`", SEATBELT,
          "(version 1)\n(allow default)\n", "(deny file-write*)\n(allow file-write*", "/.omega\")", '(subpath "/private/tmp")', "/.claude\")",
          '(subpath "/private/var/folders")'),
    works("Landlock alone: `--tier 3`", "TMPDIR=$HOME/tmp corral run --tier 3 --mode sandbox --data-dir ~/.omega -- sh -c 'echo x >~/.omega/f && echo data: yes; "
          "echo x >~/elsewhere || echo elsewhere: no'", "data: yes", "elsewhere: no"),
    works("the working folder stays", WRITES, "@HOME@/work\n"),
    works("further folders that may be written", "corral run --mode sandbox --data-dir ~/.omega --extra ~/more -- sh -c 'echo x >~/more/f && echo more: yes'", "more: yes"),
    works("a wrong mode is an error that names the right ones", "corral run --mode write -- true", "invalid value for --mode: `write`", "sandbox, rx, rwx", status=125),
    works("commands of a host start in the data folder and write only there",
          "seed-host mode sandbox ~/.omega build execute 'pwd; echo x >here && echo here: yes; echo x >~/elsewhere || echo elsewhere: no'", "@HOME@/.omega\n", "here: yes", "elsewhere: no"),
    works("people see the mode", SEEN, '"policy":"mode sandbox"'),
    works("the host makes the data folder", "corral run --mode sandbox --data-dir ~/.none -- sh -c 'ls -d ~/.none'; seed-host mode sandbox ~/.made build execute 'ls -d ~/.made'", "@HOME@/.none\n", "@HOME@/.made\n"),
    section("What differs"),
    differs("the whole file system can be read", "but for the baseline: keys, tokens and passwords at known places stay unreadable, because a prompt protects nothing",
            "corral run --mode sandbox --data-dir ~/.omega -- cat ~/.ssh/id_rsa", "Permission denied", "!a private key", status=1),
    differs("the Seatbelt profile has nothing more", "it denies the baseline, too", SEATBELT, "; the baseline, which no grant overrides"),
    differs("`~/.omega/workspace` is made, and the agent starts there", "it is made; the agent starts where its user is, or in the data folder",
            "corral run --mode sandbox --data-dir ~/.omega -- pwd; ls ~/.omega", "@HOME@/work\n", "workspace"),
    differs("without the means of the kernel it warns and goes on", "what cannot be enforced is refused; less is a choice, by `--tier`",
            "unshare -rU sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; corral run --mode sandbox --data-dir ~/.omega -- echo it ran'",
            "this system does not let Corral use user namespaces", "--tier 3 enforces the writes of a mode without namespaces", "!it ran", status=125),
    declined("an error variant `OmegaError::Sandbox`, \"sandbox error: …\"", "it is a type of Rust; errors of a C library are a negative errno and a sentence",
             "seed-host mode wrong ~/.omega", "mode -22 Invalid argument", status=1),
], setup=("mkdir -p ~/.omega ~/.claude ~/more ~/tmp",), needs=("daemon",))
