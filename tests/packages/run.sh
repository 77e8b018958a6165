#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Install, upgrade and purge the packages in the root of a Debian suite. life.sh prints the
# results, as TAP.
#
#   tests/packages/run.sh DIR [SUITE]
#
# DIR is where `make deb` left them, SUITE that of the host, which they are made
# for. Changes in the root are dropped.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
[ $# -ge 1 ] || {
	sed -n '7s/^# *//p' "$0" >&2
	exit 2
}
# shellcheck source=/dev/null
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-packages.XXXXXX")
trap 'rm -rf "$dir"' EXIT
versions=$("$here/versions.sh" "$1" "$dir")
# shellcheck disable=SC2086 # two words
"$here/../../tools/vm/vm" in "$suite" "$dir" ./life.sh $versions
