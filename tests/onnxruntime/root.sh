# shellcheck shell=bash disable=SC2034,SC2154 # variables of other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# A small root of Debian's testing release with ONNX Runtime, its headers and Python, for the
# execution provider, and the files of its tests. It is made once, in $VTA_CACHE/onnxruntime.
# Sourced; $top is the source tree, and the working directory of its functions.

here=$top/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"

ort=$cache/onnxruntime
ort_packages='python3-onnxruntime libonnxruntime-dev python3-numpy libjson-c5 libprotobuf-c1 libudev1'

# ort_make DIR
# shellcheck disable=SC2016,SC2317 # the root's shell; called by cached
ort_make() {
	root_make "$1" testing '
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q -y install $1' "$ort_packages"
}

# ort_root: make the root, unless the cache has it
ort_root() {
	root_need
	cached onnxruntime/root "root of Debian testing with ONNX Runtime (600 MB)" ort_make
}

# ort_run DIR COMMAND...: run the command in the root, in DIR
ort_run() {
	"${chroot_run[@]}" "$ort/root" "$@"
}

# ort_or_skip DIR: make the root, or print that a test is skipped and end this shell; DIR gets a log
ort_or_skip() {
	(ort_root) 2>"$1/log" && return
	echo "TAP version 13"
	echo "ok 1 provider # SKIP no root of Debian testing: $(grep -m 1 'mmdebstrap: ' "$1/log" ||
		tail -n 1 "$1/log")"
	echo "1..1"
	exit 0
}

# ort_build FILE...: build with the root's headers, by this machine's compiler
ort_build() {
	env -u MAKEFLAGS -u MFLAGS make -s "$@" ORT_INCLUDE="$ort/root/usr/include/onnxruntime" >&2
}

# ort_files DIR: write the provider, its tests and their models to DIR
ort_files() {
	ort_build build/lib/libvtadev-onnxruntime.so
	cp build/lib/libvtadev-onnxruntime.so tests/onnxruntime/provider.py "$1/"
	VTADEV_PLUGINS=$top/build/lib /usr/bin/python3 tests/onnxruntime/models.py "$1"
}
