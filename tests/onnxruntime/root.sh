# shellcheck shell=bash disable=SC2034,SC2154 # variables of other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# A small root of Debian's testing release with ONNX Runtime, its headers and Python, for the
# execution provider. It is made once, in $VTA_CACHE/onnxruntime.
# Sourced; $top is the source tree.

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
