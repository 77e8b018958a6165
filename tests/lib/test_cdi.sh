#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vtactl cdi (sanitized) against a made-up sysfs: the specification, its file, the udev rule
# that keeps it. Prints TAP.
#
# The program is the one beside it, build/tests/lib/vtactl, in the source tree's build
# directory.
set -u

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../../..")
if ! command -v umockdev-run > /dev/null; then
	echo "1..0 # SKIP umockdev is not installed"
	exit 0
fi
# shellcheck source-path=SCRIPTDIR source=mock.sh
. "$here/mock.sh"
cp "$here/vtactl" "$tmp/vtactl"

: > "$tmp/none"
card 0 0000:00:05.0 "$(config_space)" > "$tmp/one"
{
	card 10 0000:00:07.0 "$(config_space)"
	card 2 0000:00:06.0 "$(config_space)"
} > "$tmp/two"

# is_cdi FILE
is_cdi() { "$top/tests/vtactl/cdi.py" "$1" 2>> "$tmp/err"; }
# devices FILE: a line for each: name, nodes
devices() {
	python3 -c 'import json, sys
for d in json.load(open(sys.argv[1]))["devices"]:
    print(d["name"], *(n["path"] for n in d["containerEdits"]["deviceNodes"]))' "$1"
}

echo "TAP version 13"

with one "$tmp/vtactl" cdi
[ $status -eq 0 ] && is_cdi "$tmp/out" && grep -q '"kind":"vta.example/card"' "$tmp/out" &&
	[ "$(devices "$tmp/out")" = "vta0 /dev/vta0
all /dev/vta0" ]
result "one card: is a specification, with it and all" $?

with two "$tmp/vtactl" cdi
[ $status -eq 0 ] && is_cdi "$tmp/out" && [ "$(devices "$tmp/out")" = "vta2 /dev/vta2
vta10 /dev/vta10
all /dev/vta2 /dev/vta10" ]
result "two cards, by number" $?

with two "$tmp/vtactl" cdi --kind=pool-7.lab.example/npu_x
[ $status -eq 0 ] && is_cdi "$tmp/out" && grep -q '"kind":"pool-7.lab.example/npu_x"' "$tmp/out"
result "--kind: another name" $?

for kind in card /card vendor/ 1a/card a./card a/b/c a/b.c a/-b 'a b/c' ''; do
	with one "$tmp/vtactl" cdi --kind="$kind"
	[ $status -eq 2 ] && says 'not VENDOR/CLASS' err && [ ! -s "$tmp/out" ]
	result "--kind: '$kind' is none" $?
done

# in_group GROUP COMMAND...: where the node of each card has this group
in_group() {
	# shellcheck disable=SC2016 # the shell in umockdev-run expands it
	with two sh -c 'chgrp "$0" "$UMOCKDEV_DIR"/dev/vta* && "$@"' "$@"
}
if [ "$(id -u)" -ne 0 ]; then
	skip "the nodes' group" "needs root"
else
	in_group 44 "$tmp/vtactl" cdi
	[ $status -eq 0 ] && is_cdi "$tmp/out" && [ "$(grep -c '"gid":44' "$tmp/out")" -eq 4 ] &&
		! says additionalGids out && says '"cdiVersion":"0.5.0"' out
	result "the nodes' group" $?
	in_group 44 "$tmp/vtactl" cdi --groups
	[ $status -eq 0 ] && is_cdi "$tmp/out" && says '"cdiVersion":"0.7.0"' out &&
		[ "$(tr -d ' \n' < "$tmp/out" | grep -o '"additionalGids":\[44\]' | wc -l)" -eq 3 ]
	result "--groups: processes are members of it" $?
	in_group 0 "$tmp/vtactl" cdi --groups
	[ $status -eq 0 ] && is_cdi "$tmp/out" && ! says additionalGids out && ! says '"gid"' out
	result "--groups: but not of root's" $?
fi

# A link, as the library's is.
: > "$tmp/libvtadev.so.1.0.0"
ln -s libvtadev.so.1.0.0 "$tmp/libvtadev.so.1"
with one "$tmp/vtactl" cdi --mount="$tmp/libvtadev.so.1" -m "$tmp/vtactl"
[ $status -eq 0 ] && is_cdi "$tmp/out" && python3 -c 'import json, sys
mounts = json.load(open(sys.argv[1]))["containerEdits"]["mounts"]
assert [m["hostPath"] for m in mounts] == [m["containerPath"] for m in mounts] == sys.argv[2:]
assert all("ro" in m["options"] for m in mounts)' "$tmp/out" "$tmp/libvtadev.so.1" "$tmp/vtactl" 2>> "$tmp/err"
result "--mount: files of the host, read-only" $?
with one "$tmp/vtactl" cdi --mount=vtactl
[ $status -eq 2 ] && says 'not an absolute path: vtactl' err && [ ! -s "$tmp/out" ]
result "--mount: a relative path is refused" $?
with one "$tmp/vtactl" cdi --mount="$tmp/none such"
[ $status -eq 1 ] && says 'none such: No such file' err && [ ! -s "$tmp/out" ]
result "--mount: a file that is not there is refused" $?

with none "$tmp/vtactl" cdi
[ $status -eq 3 ] && [ ! -s "$tmp/out" ]
result "no card: exits 3" $?

mkdir "$tmp/cdi"
with two "$tmp/vtactl" cdi --output="$tmp/cdi/vta.json"
[ $status -eq 0 ] && [ ! -s "$tmp/out" ] && is_cdi "$tmp/cdi/vta.json" &&
	[ "$(devices "$tmp/cdi/vta.json" | wc -l)" -eq 3 ] && [ "$(ls -A "$tmp/cdi")" = vta.json ]
result "--output: the file and nothing beside it" $?

for _ in 1 2; do
	with none "$tmp/vtactl" cdi --output="$tmp/cdi/vta.json"
	[ $status -eq 0 ] && [ -z "$(ls -A "$tmp/cdi")" ]
	result "--output: without a card there is no file: a specification has devices" $?
done

# ---- What keeps it ----

# run_rule MACHINE ACTION: what udev would run for the card there, in this order
run_rule() {
	# shellcheck disable=SC2016
	with "$1" unshare -m bash -c '
		mount -t tmpfs none /run && mkdir -p /run/udev/rules.d && cp "$1" /run/udev/rules.d &&
		udevadm test --action="$2" /sys/class/vta/vta2 2>&1' bash "$tmp/61-vta-cdi.rules" "$2"
	# udevadm prints the first form on Debian 12, the second on Debian 13.
	sed -n "s/^run: '\(.*\)'\$/\1/p; s/^  RUN{program} : //p" "$tmp/out" > "$tmp/run"
}
sed "s|@BINDIR@|$tmp|" "$top/udev/61-vta-cdi.rules.in" > "$tmp/61-vta-cdi.rules"
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2> /dev/null || ! command -v udevadm > /dev/null; then
	skip "udev rule: runs vtactl" "needs root, a mount namespace and udevadm"
else
	for action in add remove; do
		run_rule two $action
		[ "$(cat "$tmp/run")" = "/bin/mkdir -p /run/cdi
$tmp/vtactl cdi --output=/run/cdi/vta.json" ]
		result "udev rule: runs vtactl: $action" $?
	done
	run_rule two change
	[ ! -s "$tmp/run" ]
	result "udev rule: but not for a fault" $?
fi

# ---- In containers ----

"$top/tests/vtactl/${VTA_RUNTIME:-podman}.sh" "$tmp/vtactl" "$tmp/one" "$n" > "$tmp/podman" 2>&1 || failed=1
grep -E '^(not )?ok ' "$tmp/podman"
n=$((n + $(grep -cE '^(not )?ok ' "$tmp/podman")))
[ "$failed" -eq 0 ] || sed 's/^/# /' "$tmp/podman"

echo "1..$n"
exit $failed
