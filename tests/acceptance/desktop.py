#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user's desktop for real: dunst on a session bus, xclip on an X server, wl-clipboard on sway, all of this test's own.

    desktop.py --corral PROGRAM     prints TAP; $CORRAL_BROKER, $CORRAL_BACKENDS … as for other tests
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NEEDED = ("Xvfb", "dbus-daemon", "dunst", "xclip", "sway", "wl-copy")
USER = 65534  # sway does not run as root
number = failures = 0
started = []


def ok(holds, name, *context):
    global number, failures
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")
    if not holds:
        failures += 1
        for part in context:
            print("# " + repr(part)[:2000])
    sys.stdout.flush()


def start(words, env, **options):
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    started.append(process)
    return process


def desktop(scratch):
    """An X server, a bus, and dunst, which prints what it shows."""
    env = {**os.environ, "HOME": scratch, "XDG_RUNTIME_DIR": os.path.join(scratch, "runtime"),
           "XDG_CONFIG_HOME": os.path.join(scratch, "config")}
    for name in ("WAYLAND_DISPLAY", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "BROWSER", "CI"):
        env.pop(name, None)
    os.makedirs(env["XDG_RUNTIME_DIR"], 0o700)
    out, into = os.pipe()
    start(["Xvfb", "-displayfd", str(into), "-screen", "0", "800x600x24", "-nolisten", "tcp"], env, pass_fds=[into],
          stderr=subprocess.DEVNULL)
    os.close(into)
    with os.fdopen(out) as file:
        env["DISPLAY"] = ":" + file.readline().strip()
    config = os.path.join(scratch, "bus.conf")
    with open(config, "w", encoding="utf-8") as file:  # without services that the bus would start itself
        file.write(f'<busconfig><type>session</type><listen>unix:path={scratch}/bus</listen><policy context="default">'
                   '<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>')
    bus = start(["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"], env, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
    env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip().split(",guid")[0]
    shown = os.path.join(scratch, "shown")
    with open(shown, "wb") as file:
        start(["dunst", "-print"], env, stdout=file, stderr=subprocess.DEVNULL)
    return env, shown


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def until(seconds, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


class Runner:
    def __init__(self, corral, scratch, env):
        self.corral, self.scratch, self.env = corral, scratch, env

    def __call__(self, services, *calls):
        policy = os.path.join(self.scratch, "policy.yaml")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"],
                       "services": services}, file)
        quoted = ["sandbox-call --json " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
                  for words in calls]
        done = subprocess.run([self.corral, "run", "--policy", policy, "--", "sh", "-c", "; ".join(quoted)], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
                              cwd=self.scratch)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def code(answer):
    return answer.get("error", {}).get("code")


def test_dunst(run, env, shown):
    service = subprocess.run([run.corral, "service", "test", "notifications"], env=env, capture_output=True, text=True,
                             check=False)
    ok(until(60, lambda: subprocess.run([run.corral, "service", "test", "notifications"], env=env, capture_output=True,
                                        check=False).returncode == 0), "corral service finds dunst", service.stdout)
    grant = {"notifications": {"access": "send"}}
    answers, err = run(grant, ["notifications.send", "title=Milk & eggs", "body=<b>bold</b> <a href=\"http://x.example\">y</a>\n2 left"])
    ok(answers == [{"shown": True}], "a notification is sent", answers, err)
    # The title, and then the text.
    ok(until(60, lambda: "Milk" in read(shown) and "2 left" in read(shown)), "dunst shows it", read(shown))
    text = read(shown)
    ok("policy.yaml: Milk & eggs" in text, "its title begins with whose it is", text)
    ok("&lt;b&gt;bold&lt;/b&gt;" in text and "<b>bold</b>" not in text.replace("<b>policy.yaml", ""),
       "markup reaches it escaped", text)
    answers, err = run({"clipboard": {"access": "read"}}, ["notifications.send", "title=Not granted"])
    ok([code(a) for a in answers] == [-32001] and "Not granted" not in read(shown), "what is not granted is not shown",
       answers, err)


def test_asks(run, env, shown):
    """A command fails where there is no terminal: dunst shows that there is a question."""
    folder = os.path.join(run.scratch, "asks")
    os.makedirs(folder)
    with open(os.path.join(run.scratch, "asked-about"), "w", encoding="utf-8") as file:
        file.write("content")
    done = subprocess.run([run.corral, "run", "--ask-denied", "--", "cat", os.path.join(run.scratch, "asked-about")], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120, cwd=folder)
    ok(until(60, lambda: "asked-about" in read(shown)) and "a command failed" in read(shown), "a question is shown on the desktop", read(shown), done.stderr)


def outside(env, *words, text=None):
    done = subprocess.run(["xclip", *words, "-selection", "clipboard"], env=env, input=text, text=True,
                          stdout=subprocess.PIPE if text is None else subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False, timeout=60)
    return done.stdout


def variables(pid):
    """Those that the process was started with; none if it has ended."""
    try:
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    except OSError:
        return []


def test_xclip(run, env):
    both = {"clipboard": {"access": "readwrite"}}
    tricky = "ünicode 'quotes' $(id) -o\nsecond line\n"
    answers, err = run(both, ["clipboard.write", "text=" + tricky])
    ok(answers == [{"written": True}], "text is written", answers, err)
    ok(until(60, lambda: outside(env, "-out") == tricky), "another program gets it, when the sandbox has ended", outside(env, "-out"))
    outside(env, "-in", text="copied by the user")
    answers, err = run(both, ["clipboard.read"])
    ok(answers == [{"text": "copied by the user"}], "text is read", answers, err)
    answers, err = run({"clipboard": {"access": "write"}}, ["clipboard.read"])
    ok([code(a) for a in answers] == [-32001], "reading is an access of its own", answers, err)
    outside(env, "-in", text="x" * (2 << 20))
    answers, err = run(both, ["clipboard.read"])
    ok([code(a) for a in answers] == [-32002], "2 MiB are refused", [str(a)[:200] for a in answers], err)
    # A flood of writes leaves one owner behind, not many.
    run({"clipboard": {"access": "write", "rate_limit": "1000/min"}}, *[["clipboard.write", f"text={i}"] for i in range(20)])

    def owners():
        """Of this display: other tests may have theirs."""
        found = subprocess.run(["pgrep", "-u", str(os.getuid()), "-x", "xclip"], capture_output=True, text=True, check=False)
        return sum(f"DISPLAY={env['DISPLAY']}" in variables(pid) for pid in found.stdout.split())

    ok(until(60, lambda: outside(env, "-out") == "19"), "the last of many writes counts", outside(env, "-out"))
    ok(until(60, lambda: owners() == 1), "one owner stays", owners())
    service = subprocess.run([run.corral, "service", "test", "clipboard"], env=env, capture_output=True, text=True,
                             check=False)
    ok(service.returncode == 0 and "xclip" in service.stdout, "corral service finds xclip", service.stdout)
    gone = {**env, "DISPLAY": ":987"}
    service = subprocess.run([run.corral, "service", "test", "clipboard"], env=gone, capture_output=True, text=True,
                             check=False)
    ok(service.returncode == 1 and "display" in service.stdout, "and says that there is no display", service.stdout)
    answers, err = Runner(run.corral, run.scratch, gone)(both, ["clipboard.read"], ["clipboard.write", "text=x"])
    ok([code(a) for a in answers] == [-32005, -32005], "a display that is not there: -32005", answers, err)


def wayland(scratch, env):
    """A compositor without a screen; its variables."""
    runtime = os.path.join(scratch, "wayland")
    os.makedirs(runtime, 0o700)
    config = os.path.join(scratch, "sway.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write("xwayland disable\n")
    os.chmod(scratch, 0o711)
    words = ["sway", "--unsupported-gpu", "-c", config]
    if os.getuid() == 0:
        os.chown(runtime, USER, USER)
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *words]
    start(words, {**env, "HOME": runtime, "XDG_RUNTIME_DIR": runtime, "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman",
                  "WLR_LIBINPUT_NO_DEVICES": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sockets():
        return [name for name in os.listdir(runtime) if name.startswith("wayland-") and not name.endswith(".lock")]

    until(60, sockets)
    # The display is that of who runs this test.
    for name in ("", *sockets()):
        os.chown(os.path.join(runtime, name), os.getuid(), os.getgid())
    env = {**env, "XDG_RUNTIME_DIR": runtime, "WAYLAND_DISPLAY": (sockets() or ["none"])[0]}
    env.pop("DISPLAY")
    return env


def test_wayland(run, env):
    def paste():
        return subprocess.run(["wl-paste", "--no-newline"], env=env, capture_output=True, text=True, check=False, timeout=60).stdout

    def service(env):
        done = subprocess.run([run.corral, "service", "test", "clipboard"], env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    both = {"clipboard": {"access": "readwrite"}}
    tricky = "ünicode 'quotes' $(id) -o\nsecond line\n"
    ok(until(60, lambda: service(env)[0] == 0) and "wl-clipboard" in service(env)[1], "corral service finds wl-clipboard, and an empty clipboard",
       service(env))
    answers, err = run(both, ["clipboard.read"])
    ok([code(a) for a in answers] == [-32005], "there is nothing to read", answers, err)
    answers, err = run(both, ["clipboard.write", "text=" + tricky])
    ok(answers == [{"written": True}], "text is written", answers, err)
    ok(until(60, lambda: paste() == tricky), "another program gets it, when the sandbox has ended", paste())
    subprocess.run(["wl-copy"], env=env, input="copied by the user", text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False, timeout=60)
    answers, err = run(both, ["clipboard.read"])
    ok(answers == [{"text": "copied by the user"}], "text is read", answers, err)
    answers, err = run({"clipboard": {"access": "write"}}, ["clipboard.read"])
    ok([code(a) for a in answers] == [-32001], "reading is an access of its own", answers, err)
    gone = {**env, "WAYLAND_DISPLAY": "wayland-987"}
    ok(service(gone)[0] == 1, "a display that is not there does not work", service(gone))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    options = parser.parse_args()
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        print(f"1..0 # SKIP not installed: {' '.join(missing)}")
        return 0
    scratch = os.path.realpath(tempfile.mkdtemp(prefix="corral-d."))
    try:
        env, shown = desktop(scratch)
        run = Runner(os.path.abspath(options.corral), scratch, env)
        test_dunst(run, env, shown)
        test_asks(run, env, shown)
        test_xclip(run, env)
        env = wayland(scratch, env)
        test_wayland(Runner(run.corral, scratch, env), env)
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)
        shutil.rmtree(scratch)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
