#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write this Python, with modules and the libraries that they load, as a root directory for the VM.

    tree.py TAR MODULE|PATH...

Modules are imported, and all files that are then loaded go to TAR, at their paths; PATH is a file or
directory of more.
"""
import importlib
import os
import sys
import tarfile


def mapped():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return {line.split(None, 5)[5].rstrip("\n") for line in file if len(line.split()) > 5}


def links_to(path):
    """The links beside a library that lead to it: programs name these."""
    folder = os.path.dirname(path)
    return [entry.path for entry in os.scandir(folder)
            if entry.is_symlink() and os.path.realpath(entry.path) == path]


def loaded():
    paths = {os.path.realpath(sys.executable)}
    for module in list(sys.modules.values()):
        paths |= {getattr(module, "__file__", None), getattr(module, "__cached__", None)}
    libraries = {path for path in mapped() if path.startswith("/")}
    for path in libraries:
        if os.path.isfile(path):
            paths |= {path, *links_to(path)}
    return {path for path in paths if path and os.path.exists(path)}


def main():
    to, *names = sys.argv[1:]
    for name in names:
        if not name.startswith("/"):
            importlib.import_module(name)
    with tarfile.open(to, "w") as tar:
        for path in sorted(loaded() | {name for name in names if name.startswith("/")}):
            tar.add(path)
        for name, target in (("lib", "usr/lib"), ("lib64", "usr/lib64"), ("python3", None)):
            link = tarfile.TarInfo(name if target else "usr/bin/python3")
            link.type, link.linkname = tarfile.SYMTYPE, target or os.path.realpath(sys.executable)
            if target or link.linkname != "/usr/bin/python3":
                tar.addfile(link)
        # The loader, by the name that is in programs.
        for loader in ("/usr/lib64/ld-linux-x86-64.so.2", "/usr/lib/ld-linux-aarch64.so.1"):
            if os.path.exists(loader):
                tar.add(os.path.realpath(loader), loader)


if __name__ == "__main__":
    main()
