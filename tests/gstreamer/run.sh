#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh - the GStreamer element vtainfer, on the device "soft". Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/../.."
skip_all() {
	echo "TAP version 13"
	echo "ok 1 vtainfer # SKIP $1"
	echo 1..1
	exit 0
}
[ -e build/lib/gstreamer-1.0/libgstvta.so ] || skip_all "the element is not built: it takes libgstreamer-plugins-base1.0-dev"
command -v gst-launch-1.0 > /dev/null || skip_all "there is no gst-launch-1.0 (gstreamer1.0-tools)"
gst-inspect-1.0 --exists videotestsrc || skip_all "there is no videotestsrc (gstreamer1.0-plugins-base)"
[ -e build/python/vtadev/_compiler.abi3.so ] || skip_all "the Python package has no compiler"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-gstreamer.XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/plugins"
cc -shared -fPIC -Iuapi -Ilibvtadev -o "$dir/plugins/libvtadev-frail.so" tests/devices/frail.c
cp build/lib/libvtadev-soft.so "$dir/plugins"
# The registry of plugins is in XDG_CACHE_HOME.
export PYTHONPATH=$PWD/build/python:$PWD/tests/python LD_LIBRARY_PATH=$PWD/build/lib PYTHONDONTWRITEBYTECODE=1 \
	GST_PLUGIN_PATH=$PWD/build/lib/gstreamer-1.0 XDG_CACHE_HOME=$dir/cache \
	VTADEV_PLUGINS=$dir/plugins VTADEV_DEVICE=soft
/usr/bin/python3 tests/python/tap.py tests/gstreamer
