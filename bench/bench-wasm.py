#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WASM skills in one run: compute against native gcc -O2, clang -O2, and node and wasm2c where they are installed; the
cost of fuel and of epochs, which loaded skills have; compiling; then bench-wasm, for cold and warm calls and what
loaded skills hold.

    bench-wasm.py [--rounds N] [--skills N] [--part compute|calls]     CORRAL, CORRAL_WASM, CORRAL_WARDEN and BENCH_WASM are the programs

Exit status 1: a target is missed.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EMPTY = """(module (memory (export "memory") 1) (data (i32.const 16) "\\11\\00\\00\\00{\\22success\\22: true}")
(func (export "allocate") (param i32) (result i32) i32.const 512)
(func (export "handle") (param i32 i32) (result i32) i32.const 16))"""
NODE = """const {WASI} = require('node:wasi'), fs = require('fs');
const wasi = new WASI({version: 'preview1', args: ['work'], returnOnExit: true});
wasi.start(new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(process.argv[2])),
  {wasi_snapshot_preview1: wasi.wasiImport}));"""
COMPUTE_TARGET = 0.8


def skill(folder, module, more=""):
    os.makedirs(folder)
    shutil.copy(module, os.path.join(folder, "skill.wasm"))
    name = os.path.basename(folder)
    with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write(f"---\nname: {name}\ndescription: a benchmark\n---\n")
    with open(os.path.join(folder, "manifest.yaml"), "w", encoding="utf-8") as f:
        f.write(f'name: {name}\nversion: "1"\nwasm: {{file: skill.wasm}}\n{more}')


def kinds(argv):
    out = subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {name: float(value) for name, value in (line.split() for line in out.splitlines())}


def translated(folder, module):
    """The program that wasm2c and gcc -O2 make of the module: its memory is guarded by pages and its calls through
    pointers are checked, as in every engine, but a C compiler makes the code. None: it cannot be compiled. The comments of
    wasm2c's header say what this version calls its functions."""
    work = os.path.join(folder, "wasm2c")
    os.makedirs(work)
    subprocess.run(["wasm2c", module, "-n", "work", "-o", os.path.join(work, "work.c")], check=True)
    with open(os.path.join(work, "work.h"), encoding="utf-8") as f:
        text = f.read()
    names = {"INSTANCE": r"} (\w+);", "INSTANTIATE": r"void (\w+instantiate)\(", "INIT": r"void (\w+_init_module)\(",
             "HOST": r"^struct (\w+);", "MEMORY": r"/\* export: 'memory' \*/\n.*?(\w+)\(",
             "START": r"/\* export: '_start' \*/\n.*?(\w+)\("}
    found = {name: re.search(pattern, text, re.M) for name, pattern in names.items()}
    lines = [f"#define {name} {match[1]}" for name, match in found.items() if match]
    lines += [f"#define HOST_{name} {function}"
              for name, function in re.findall(r"/\* import: '\w+' '(\w+)' \*/\n.*?(\w+)\(", text)]
    with open(os.path.join(work, "names.h"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    program = os.path.join(work, "work")
    built = subprocess.run(["gcc", "-O2", "-I", work, os.path.join(HERE, "wasm2c-host.c"), os.path.join(work, "work.c"),
                            "-lwasm-rt-impl", "-lm", "-o", program], check=False)
    if built.returncode != 0:
        print("wasm2c is not measured: what it made cannot be compiled here")
        return None
    return program


def compute(folder, rounds):
    """Rounds of all in turn; prints the best of each relative to the native one, as only those are undisturbed by others
    who use the machine. True: the target is met."""
    source = os.path.join(HERE, "wasm-work.c")
    native, module = os.path.join(folder, "native"), os.path.join(folder, "work.wasm")
    subprocess.run(["gcc", "-O2", source, "-lm", "-o", native], check=True)
    subprocess.run(["clang", "-O2", source, "-lm", "-o", native + "-clang"], check=True)
    subprocess.run(["clang", "--target=wasm32-wasi", "-O2", source, "-lm", "-o", module], check=True)
    skill(os.path.join(folder, "work"), module)
    skill(os.path.join(folder, "fuel"), module, "limits: {max_fuel: 1000000000000}\n")
    corral = [os.environ["CORRAL"], "run", "--yes", "--skill"]
    ways = {"native gcc -O2": [native], "native clang -O2": [native + "-clang"]}
    by_wasm2c = translated(folder, module) if shutil.which("wasm2c") else None
    if by_wasm2c:
        ways["wasm2c, gcc -O2"] = [by_wasm2c]
    ways["corral"] = corral + [os.path.join(folder, "work")]
    ways["corral, loaded"] = [os.environ["BENCH_WASM"], "call", os.path.join(folder, "work")]
    ways["corral, with fuel"] = corral + [os.path.join(folder, "fuel")]
    if shutil.which("node"):
        script = os.path.join(folder, "node.js")
        with open(script, "w", encoding="utf-8") as f:
            f.write(NODE)
        ways["node"] = ["node", "--no-warnings", script, module]
    seen = {way: [] for way in ways}
    for _ in range(rounds):
        for way, argv in ways.items():
            seen[way].append(kinds(argv))
    best = {way: {k: max(r[k] for r in runs) for k in runs[0] if k != "mean"} for way, runs in seen.items()}
    for values in best.values():
        values["mean"] = statistics.geometric_mean(values.values())
    base = best["native gcc -O2"]
    print(f"{'of native':20}" + "".join(f"{k:>10}" for k in base))
    for way, values in best.items():
        print(f"{way:20}" + "".join(f"{values[k] / base[k]:10.2f}" for k in base))
    share = best["corral"]["mean"] / base["mean"]
    print(f"compute, of native: {share:.2f} (target {COMPUTE_TARGET}: {'met' if share >= COMPUTE_TARGET else 'MISSED'})")
    return share >= COMPUTE_TARGET


def compiling(folder):
    """Seconds for 100 kB of code, by a module without names and data."""
    module, bare = os.path.join(folder, "work.wasm"), os.path.join(folder, "bare.wasm")
    shutil.copy(module, bare)
    if shutil.which("wasm-strip"):
        subprocess.run(["wasm-strip", bare], check=True)
    times = []
    for _ in range(5):
        with open(bare, "rb") as f:
            begin = time.monotonic()
            subprocess.run([os.environ["CORRAL_WASM"], "compile"], stdin=f, stdout=subprocess.DEVNULL, check=True)
            times.append(time.monotonic() - begin)
    size = os.path.getsize(bare)
    print(f"compiling {size / 1000:.0f} kB: {1000 * statistics.median(times):.0f} ms, "
          f"{100000 * 1000 * statistics.median(times) / size:.0f} ms for 100 kB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--skills", type=int, default=1000)
    parser.add_argument("--part", choices=["compute", "calls"], help="only this")
    options = parser.parse_args()
    for program in ("gcc", "clang", "wasm-ld", "wat2wasm"):
        if not shutil.which(program):
            print(f"bench-wasm: skipped, there is no {program} (tools/setup bench wasm-test installs it)")
            sys.exit(77)  # meson's word for skipped
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        met = options.part == "calls" or compute(folder, options.rounds)
        if options.part != "calls":
            compiling(folder)
        if options.part == "compute":
            sys.exit(0 if met else 1)
        text, module = os.path.join(folder, "empty.wat"), os.path.join(folder, "empty.wasm")
        with open(text, "w", encoding="utf-8") as f:
            f.write(EMPTY)
        subprocess.run(["wat2wasm", text, "-o", module], check=True)
        skill(os.path.join(folder, "empty"), module)
        calls = subprocess.run([os.environ["BENCH_WASM"], os.environ["CORRAL"], folder, str(20 * options.rounds),
                                str(options.skills)], check=False)
    sys.exit(0 if met and calls.returncode == 0 else 1)


main()
