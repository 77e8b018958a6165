#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh need PACKAGE...: make sure that Debian packages are installed.
# Root gets them installed; anyone else is told which are missing (exit 1).
set -euo pipefail

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# apt is quiet unless it fails: then all that it said is shown.
apt() {
	local log
	log=$(mktemp "${TMPDIR:-/tmp}/vta-apt.XXXXXX")
	if ! DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
			-o Acquire::Retries=3 "$@" >"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

need() {
	local package missing=()

	for package; do
		installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "deps: missing packages; install them as root with:" >&2
		echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "deps: installing ${missing[*]}" >&2
	# A machine's package lists may be absent or older than its mirror.
	apt install -y --no-install-recommends "${missing[@]}" 2>/dev/null || {
		apt update
		apt install -y --no-install-recommends "${missing[@]}"
	}
}

if [ "${1-}" != need ] || [ $# -lt 2 ]; then
	echo "usage: deps.sh need PACKAGE..." >&2
	exit 2
fi
shift
need "$@"
