#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check a specification of the Container Device Interface: its structure, its names, and that
its version has all that is used.

    cdi.py FILE

Prints the first error, and fails.
"""

import json
import re
import sys

STRING, NUMBER = (str,), (int,)
VERSIONS = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0"]
LETTERS = "[A-Za-z]"
END = "[A-Za-z0-9]"
VENDOR = rf"{LETTERS}(?:[\w.-]*{END})?"
CLASS = rf"{LETTERS}(?:[\w-]*{END})?"
DEVICE = rf"{END}(?:[\w.:-]*{END})?"

SPEC = {"cdiVersion": STRING, "kind": STRING, "devices": (list,), "annotations": (dict,),
        "containerEdits": (dict,)}
DEVICE_KEYS = {"name": STRING, "containerEdits": (dict,), "annotations": (dict,)}
EDITS = {"env": (list,), "deviceNodes": (list,), "mounts": (list,), "hooks": (list,),
         "additionalGids": (list,)}
NODE = {"path": STRING, "hostPath": STRING, "type": STRING, "major": NUMBER, "minor": NUMBER,
        "fileMode": NUMBER, "permissions": STRING, "uid": NUMBER, "gid": NUMBER}
MOUNT = {"hostPath": STRING, "containerPath": STRING, "options": (list,), "type": STRING}


def need(good, what):
    if not good:
        sys.exit(what)


def check(value, keys, required, where):
    need(isinstance(value, dict), f"{where}: no object")
    for key, inner in value.items():
        need(key in keys, f"{where}: no such key: {key}")
        need(isinstance(inner, keys[key]) and not isinstance(inner, bool), f"{where}: {key}")
    need(set(required) <= set(value), f"{where}: not all of {required}")


def check_node(node, where):
    check(node, NODE, ["path"], where)
    need(node["path"].startswith("/"), f"{where}: path")
    need(node.get("type", "c") in ("b", "c", "u", "p"), f"{where}: type")
    need(set(node.get("permissions", "")) <= set("rwm"), f"{where}: permissions")
    need(0 <= node.get("fileMode", 0) <= 0o7777, f"{where}: fileMode")


def check_edits(edits, where):
    check(edits, EDITS, [], where)
    need(edits, f"{where}: empty")
    for i, node in enumerate(edits.get("deviceNodes", [])):
        check_node(node, f"{where}: node {i}")
    for group in edits.get("additionalGids", []):
        need(type(group) is int and 0 < group < 2 ** 32, f"{where}: additionalGids")
    for i, mount in enumerate(edits.get("mounts", [])):
        check(mount, MOUNT, ["hostPath", "containerPath"], f"{where}: mount {i}")
        need(all(isinstance(option, str) for option in mount.get("options", [])),
             f"{where}: mount {i}: options")


def oldest(spec):
    """The version that first had all that is used here."""
    nodes = [n for d in spec["devices"] for n in d["containerEdits"].get("deviceNodes", [])]
    names = [d["name"] for d in spec["devices"]]
    edits = [spec.get("containerEdits", {}), *(d["containerEdits"] for d in spec["devices"])]
    version = "0.3.0"
    if any("type" in m for e in edits for m in e.get("mounts", [])):
        version = "0.4.0"
    if any("hostPath" in n for n in nodes) or any(not re.match(LETTERS, n) for n in names):
        version = "0.5.0"
    if "annotations" in spec or any("annotations" in d for d in spec["devices"]) or \
            "." in spec["kind"].split("/")[1]:
        version = "0.6.0"
    if any("additionalGids" in e for e in edits):
        version = "0.7.0"
    return version


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    check(spec, SPEC, ["cdiVersion", "kind", "devices"], "specification")
    need(spec["cdiVersion"] in VERSIONS, "cdiVersion")
    need(re.fullmatch(f"{VENDOR}/{CLASS}", spec["kind"], re.A), "kind")
    need(spec["devices"], "no devices")
    for device in spec["devices"]:
        check(device, DEVICE_KEYS, ["name", "containerEdits"], "device")
        need(re.fullmatch(DEVICE, device["name"], re.A), f"name: {device['name']}")
        check_edits(device["containerEdits"], device["name"])
    if "containerEdits" in spec:
        check_edits(spec["containerEdits"], "specification")
    names = [device["name"] for device in spec["devices"]]
    need(len(set(names)) == len(names), "two devices have one name")
    need(VERSIONS.index(oldest(spec)) <= VERSIONS.index(spec["cdiVersion"]),
         f"cdiVersion is older than what is used: {oldest(spec)}")


main()
