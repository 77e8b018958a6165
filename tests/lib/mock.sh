# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The common part of tests of vtactl with a made-up sysfs, to be sourced. The
# machines are files in $tmp, which umockdev puts before the real sysfs.
# shellcheck disable=SC2034 # $failed and $status are the tests'

# A directory that a user without rights can reach too.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"

# shellcheck source=tests/tap.sh
. "$here/tap.sh"
show() {
	cat "$tmp/out" "$tmp/err"
}

# umockdev-run sets this while a thread of its own reads the environment. A variable
# that is there already is changed in place; a new one would move all of them, and the
# thread would now and then read what has been freed.
export UMOCKDEV_DIR=

# with MACHINE COMMAND...: run it there; sets $status, leaves $tmp/out and err
with() {
	local machine=$1
	shift
	status=0
	umockdev-run --device "$tmp/$machine" -- "$@" > "$tmp/out" 2> "$tmp/err" || status=$?
}

says() { grep -qF -- "$1" "$tmp/$2"; }

# A configuration space: header, then at 0x40 the PCI Express capability of a
# link at 8 GT/s x4 that could do 16 GT/s x16.
config_space() {
	printf '34125456%08x' 0 | head -c 8
	printf '00001000'			# status: has capabilities
	printf '%088d' 0			# to 0x34
	printf '40%022d' 0			# capabilities at 0x40
	printf '1000%020d' 0			# to 0x4c
	printf '04010000'			# LNKCAP: speed 4, width 16
	printf '00004300'			# LNKCTL; LNKSTA: speed 3, width 4
	printf '%0344d' 0
}

# card INDEX FUNCTION CONFIG-SPACE [ATTRIBUTE...]: with attributes of its own, as umockdev's
# "NAME=VALUE\n", beside what every card has
card() {
	local index=$1 function=$2 config=$3

	shift 3
	cat <<-END
	P: /devices/pci0000:00/$function
	E: SUBSYSTEM=pci
	A: vendor=0x1234\n
	A: device=0x5654\n
	H: config=$config

	P: /devices/pci0000:00/$function/vta/vta$index
	N: vta$index
	E: SUBSYSTEM=vta
	E: DEVNAME=/dev/vta$index
	A: dev=240:$index\n
	E: MAJOR=240
	E: MINOR=$index
	L: device=../..
	A: contract=1.0\n
	A: hw_ver=0.0.1\n
	A: serial=0123456789abcdef\n
	A: generation=3\n
	A: clock_khz=100000\n
	A: vectors=9\n
	A: mem_size=67108864\n
	A: mem_free=66060288\n
	A: queues=64\n
	A: queues_used=2\n
	A: contexts=16\n
	A: contexts_used=1\n
	A: config/LOG_BATCH=0\n
	A: config/LOG_BLOCK=4\n
	A: counters/doorbells=18446744073709551615\n
	A: counters/runs=5\n
	$([ $# -eq 0 ] || printf 'A: %s\n' "$@")

	END
}
