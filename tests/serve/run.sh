#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [NAME...] - vta-serve and vta-frigate on the device soft: all tests, or those named.
# Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import aiohttp, prometheus_client, zmq' 2>/dev/null; then
	echo 'ok 1 serve # SKIP there is no python3-aiohttp, python3-prometheus-client, or python3-zmq'
	exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-serve.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/plugins" "$dir/models"
cp build/lib/libvtadev-soft.so build/tests/serve/libvtadev-flaky.so "$dir/plugins"
build/examples/digits/digits-compile -b 1 "$dir/models/digits.vtap"
build/examples/digits/digits-compile -b 8 "$dir/models/batch.vtap"
echo '{"batch": true}' >"$dir/models/batch.json"
build/tests/ops/digits_raw examples/digits/testset.bin 500 "$dir/images" "$dir/scores"
export PYTHONPATH=$PWD/build/python:$PWD/adapters/serve:$PWD/tests/python PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=$PWD/build/lib VTADEV_PLUGINS=$dir/plugins VTADEV_DEVICE=soft
export SERVE_TEST=$dir
"$python" tests/python/tap.py tests/serve "$@"
