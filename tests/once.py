#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Run a check on those files that have changed since it passed.

  once.py [OPTIONS] KEY COMMAND... -- FILE...

COMMAND gets the files that it has not passed on yet, as last arguments; it passes by
exit status 0. Files are known by their contents and those of all that they include, by
KEY (the tool's version) and by COMMAND itself. Files that passed are recorded in
$VTA_CACHE/static, which may be deleted; those that failed are not.

  -c FLAGS  the files are C: what they include counts, with the system's headers
  -s        the files are shell scripts: what they source counts
  -t        the files are one: all are checked if any has changed
  -n N      at most N files for one COMMAND
  -j N      N COMMANDs at once (1)
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

KEEP_DAYS = 30


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("VTA_CACHE") or f"{home}/vta-pcie") / "static"


class Contents:
    """Digests of files, each read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            try:
                data = pathlib.Path(path).read_bytes()
            except OSError:
                data = b""
            self.known[path] = hashlib.sha256(data).hexdigest()
        return self.known[path]


def included(flags, files):
    """For each C file that clang can read all files that it includes."""
    run = subprocess.run(["clang", "-M", *flags.split(), *files], capture_output=True, text=True)
    rules = run.stdout.replace("\\\n", " ").splitlines()
    found = [rule.split(": ", 1)[1].split() for rule in rules if ": " in rule]
    return {names[0]: names[1:] for names in found}


def sourced(files):
    """For each script the ones that it sources, in the form of shellcheck's arguments."""
    def direct(path):
        text = pathlib.Path(path).read_text(errors="replace")
        names = re.findall(r"^\s*# shellcheck .*?\bsource=(\S+)", text, re.M)
        names += re.findall(r"^\s*(?:\.|source)\s+\"?([^\s\"$]+)", text, re.M)
        places = [pathlib.Path(), pathlib.Path(path).parent]
        return {os.path.normpath(place / name) for place in places for name in names
                if (place / name).is_file()}

    def closure(path):
        seen, todo = set(), [path]
        while todo:
            for name in direct(todo.pop()) - seen:
                seen.add(name)
                todo.append(name)
        return sorted(seen)

    return {path: closure(path) for path in files}


def units(args, key):
    """The lists of files that are checked together, each with its digest."""
    contents = Contents()
    if args.c is not None:
        more = included(args.c, args.files)
    elif args.s:
        more = sourced(args.files)
    else:
        more = {path: [] for path in args.files}

    def digest(files):
        if any(path not in more for path in files):
            return None     # the check will say why
        parts = [key]
        for path in files:
            parts += [f"{name} {contents.of(name)}" for name in [path, *more[path]]]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    groups = [args.files] if args.t else [[path] for path in args.files]
    return [(digest(files), files) for files in groups]


def batches(changed, most):
    """Units joined up to that many files."""
    batch = []
    for unit in changed:
        if batch and most and sum(len(files) for _, files in batch) + len(unit[1]) > most:
            yield batch
            batch = []
        batch.append(unit)
    if batch:
        yield batch


def check(command, batch):
    files = [path for _, unit in batch for path in unit]
    run = subprocess.run([*command, *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.returncode, run.stdout


def sweep(cache):
    """Forget what has not been of use for long."""
    oldest = time.time() - KEEP_DAYS * 86400
    for path in cache.iterdir():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            pass    # another check sweeps


def options():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-c")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-t", action="store_true")
    parser.add_argument("-n", type=int, default=0)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("key")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if "--" not in args.rest:
        parser.error("no -- before the files")
    at = args.rest.index("--")
    args.command, args.files = args.rest[:at], args.rest[at + 1:]
    return args


def main():
    args = options()
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    changed = []
    for digest, files in units(args, "\n".join([args.key, *args.command])):
        passed = digest and cache / digest
        if passed and passed.exists():
            passed.touch()
        else:
            changed.append((passed, files))
    status = 0
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        todo = list(batches(changed, args.n))
        for batch, (code, output) in zip(todo, pool.map(lambda b: check(args.command, b), todo)):
            sys.stdout.buffer.write(output)
            if code:
                status = 1
                continue
            for passed, _ in batch:
                if passed:
                    passed.touch()
    sweep(cache)
    sys.exit(status)


if __name__ == "__main__":
    main()
