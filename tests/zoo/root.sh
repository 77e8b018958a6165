# shellcheck shell=bash disable=SC2034,SC2154 # variables of other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# The root of Debian's testing release with PyTorch, transformers and ONNX Runtime that exports the
# zoo, and runs its models for comparison, and the root of Debian 13 with its PyTorch 2.6. They are
# made once, in $VTA_CACHE/zoo.
# Sourced; $top is the source tree.

here=$top/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"

zoo=$cache/zoo
zoo_packages='python3-torch python3-torchvision python3-transformers python3-onnx
	python3-onnxruntime'

zoo_trixie_packages='python3-torch python3-torchvision python3-onnx'

# zoo_make SUITE PACKAGES DIR
# shellcheck disable=SC2016,SC2317 # the root's shell; called by cached
zoo_make() {
	root_make "$3" "$1" '
		export DEBIAN_FRONTEND=noninteractive
		apt-get -q -y install $1' "$2"
}

# zoo_root: make the root, unless the cache has it
zoo_root() {
	root_need
	cached zoo/root "root of Debian testing with PyTorch (1.9 GiB)" zoo_make testing "$zoo_packages"
}

# zoo_trixie_root: make the root of Debian 13, unless the cache has it
zoo_trixie_root() {
	root_need
	cached zoo/trixie "root of Debian 13 with PyTorch (1.3 GiB)" zoo_make trixie "$zoo_trixie_packages"
}

# zoo_run DIR COMMAND...: run the command in the root of the testing release, in DIR
zoo_run() {
	"${chroot_run[@]}" "$zoo/root" "$@"
}
