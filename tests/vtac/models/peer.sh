#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# peer.sh DIR FILE...: run peer.py FILE... with DIR at /mnt and as the working directory, in a
# Debian trixie, which has onnxruntime and its quantiser; in the cache, made once (30 s).
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
here=$root/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"

peer_make() {
	root_make "$1" trixie 'apt-get -q -y install python3-onnx python3-onnxruntime'
}

root_need
cached onnxruntime "root directory with onnxruntime (Debian trixie)" peer_make
dir=$1
shift
install -m 644 "$root/tests/vtac/models/peer.py" "$dir/"
exec "${chroot_run[@]}" "$cache/onnxruntime" "$dir" python3 peer.py "$@"
