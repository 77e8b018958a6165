#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh need PACKAGE...: make sure that Debian packages are installed.
# As root, installs them; otherwise prints which are missing (exit 1).
# deps.sh update: renew apt's lists, which only root can do.
set -euo pipefail

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
		provided "$1"
}

# Some libraries are renamed in later releases, and provide their old name.
provided() {
	dpkg-query -W -f '${db:Status-Status}, ${Provides}\n' |
		awk -F ', ' -v name="$1" '
			$1 == "installed" {
				for (i = 2; i <= NF; i++) {
					sub(/ .*/, "", $i)
					if ($i == name)
						found = 1
				}
			}
			END { exit !found }'
}

# apt is quiet unless it fails; then its whole output is printed.
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

	for package in $(printf '%s\n' "$@" | sort -u); do
		installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "deps: packages are missing; install them as root with:" >&2
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

usage() {
	echo "usage: deps.sh need PACKAGE... | deps.sh update" >&2
	exit 2
}

verb=${1-}
[ $# -eq 0 ] || shift
case $verb in
need)
	[ $# -gt 0 ] || usage
	need "$@"
	;;
update)
	[ $# -eq 0 ] || usage
	[ "$(id -u)" -ne 0 ] || apt update
	;;
*)
	usage
	;;
esac
