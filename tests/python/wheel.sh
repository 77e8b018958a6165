#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# wheel.sh - a wheel, built by pip without a network, in a virtual environment that sees nothing of
# the source tree: the package's tests. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-/usr/bin/python3}
skip_all() {
	echo "ok 1 wheel # SKIP $1"
	echo 1..1
	exit 0
}
echo "TAP version 13"
"$python" -c 'import setuptools, wheel, pip' 2> /dev/null || skip_all "there is no pip, setuptools or wheel for $python"
grep -q _compiler <<<"$(make -s -n wheel-parts WHEEL_PACKAGE=/nonexistent 2> /dev/null)" ||
	skip_all "the packages of the extension or of the compiler are missing"
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-wheel.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log
pip=("$python" -m pip --disable-pip-version-check --no-cache-dir)
top=$PWD
clean=(env -i "PATH=$PATH" "HOME=$dir" PYTHONDONTWRITEBYTECODE=1 VTADEV_DEVICE=soft)
builds() {
	"${pip[@]}" wheel -q --no-index --no-deps --no-build-isolation -w "$dir" libvtadev/python &&
		! git status --porcelain --untracked-files=all libvtadev/python 2> /dev/null | grep '^??'
}
installs() {
	"$python" -m venv --without-pip "$dir/venv" &&
		"${pip[@]}" --python "$dir/venv/bin/python" install -q --no-index "$dir"/vtadev-*-abi3-linux_*.whl
}
# Files of the compiler, the library and the plugin come from the environment.
loads_only_its_own() {
	(cd "$dir" && "${clean[@]}" venv/bin/python -c '
import sys, vtadev
vtadev.open("soft")
import vtadev._compiler
mapped = {line.split()[5] for line in open("/proc/self/maps") if len(line.split()) > 5}
own = [path for path in mapped if path.startswith(sys.prefix + "/") and "/vtadev/" in path]
other = [path for path in mapped if path not in own and
         ("vta" in path.rpartition("/")[2] or path.startswith(sys.argv[1] + "/"))]
print(own, other)
sys.exit(len(own) < 3 or bool(other))' "$top")
}
passes() {
	(cd "$dir/tests" && "${clean[@]}" ../venv/bin/python tap.py "$@" > "$dir/tap") || {
		grep -A12 '^not ok' "$dir/tap"
		return 1
	}
}

check "pip builds a wheel and leaves nothing in the source tree" builds
check "it installs in a virtual environment" installs
cp -r tests/python "$dir/tests"
check "it takes its libraries, the compiler and the device from there" loads_only_its_own
for part in test_compile test_boxes; do
	check "$part passes there" passes "$part"
done
echo "1..$n"
exit "$failed"
