#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write this Python, with modules and the libraries that they load, as a root directory for the VM.

    tree.py TAR MODULE|PATH...

Modules are imported, and all files that are then loaded go to TAR, at their paths; PATH is a file or
directory of more. A library there is loaded too, with those that it needs.
"""
import ctypes
import importlib
import os
import sys
import tarfile


def mapped():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return {line.split(None, 5)[5].rstrip("\n") for line in file if len(line.split()) > 5}


def links_to(path):
    """The links beside a library, and beside its folder, that lead to it: programs name these."""
    folder = os.path.dirname(path)
    return [entry.path for place in (folder, os.path.dirname(folder)) for entry in os.scandir(place)
            if entry.is_symlink() and os.path.realpath(entry.path) == path]


def add_link(tar, name, target):
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, target
    tar.addfile(link)


def loaded():
    paths = {os.path.realpath(sys.executable)}
    for module in list(sys.modules.values()):
        paths |= {getattr(module, "__file__", None), getattr(module, "__cached__", None)}
    libraries = {path for path in mapped() if path.startswith("/")}
    links = {}
    for path in libraries:
        if os.path.isfile(path):
            paths.add(path)
            links.update(dict.fromkeys(links_to(path), path))
    return {path for path in paths if path and os.path.exists(path)}, links


def main():
    to, *names = sys.argv[1:]
    for name in names:
        if not name.startswith("/"):
            importlib.import_module(name)
        elif name.endswith(".so"):
            ctypes.CDLL(name)
    paths, links = loaded()
    links["/usr/bin/python3"] = os.path.realpath(sys.executable)
    with tarfile.open(to, "w") as tar:
        for path in sorted(paths | {name for name in names if name.startswith("/")}):
            tar.add(path)
        for path, target in links.items():
            if path != target:
                add_link(tar, path.lstrip("/"), target)
        for name in ("lib", "lib64"):
            add_link(tar, name, f"usr/{name}")
        # The loader, by the name that is in programs.
        for loader in ("/usr/lib64/ld-linux-x86-64.so.2", "/usr/lib/ld-linux-aarch64.so.1"):
            if os.path.exists(loader):
                tar.add(os.path.realpath(loader), loader)


if __name__ == "__main__":
    main()
