# shellcheck shell=bash disable=SC2034,SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# Code for every part of the VM harness: messages, the cache, the host's apt.

# chroot and depmod are in directories that only root has in PATH.
PATH=$PATH:/usr/sbin:/sbin

cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}

report() {
	printf 'vm: %s\n' "$*" >&2
}

# die MESSAGE: exits with $fatal, which is 1 for set-up and 125 for a run.
fatal=1
die() {
	report "$*"
	exit "$fatal"
}

# need PACKAGE...: have them installed; with $naming set, name them instead.
naming=
need() {
	if [ -n "$naming" ]; then
		printf '%s\n' "$@"
		return
	fi
	"$here/deps.sh" need "$@" || exit "$fatal"
}

# For shells of the guest and of roots: single quotes are all that every shell reads alike.
quote() {
	local word
	for word; do
		printf "'%s' " "${word//\'/\'\\\'\'}"
	done
}

# still WHAT PROCESS: reports every ten seconds that it is being made, until killed or PROCESS has
# ended. No process is left that would hold the lock or the output: read alone waits, on a pipe into
# which nothing is written.
still() {
	local never
	exec {never}<> <(:)
	[ -z "${lock-}" ] || exec {lock}>&-
	while [ -d "/proc/$2" ]; do
		read -r -t 10 -u "$never" || report "still making the $1 ($SECONDS s)"
	done
}

# cached NAME WHAT COMMAND...: has COMMAND fill a fresh directory (its last
# argument), which becomes $cache/NAME whole or not at all. Of two set-ups at
# once the second waits for the first. The rest of an interrupted one is removed. With
# $naming set nothing is made.
cached() {
	local dir=$cache/$1 what=$2
	shift 2

	[ ! -e "$dir" ] && [ -z "$naming" ] || return 0
	mkdir -p "${dir%/*}"
	# A subshell that is not part of a condition, where "set -e" holds, so
	# that any failure ends it here.
	(
		waiter=
		trap '[ -z "$waiter" ] || kill "$waiter"; report "cannot make the $what"; exit "$fatal"' EXIT
		exec {lock}>"$dir.lock"
		flock -n "$lock" || {
			report "another set-up makes the $what: waiting for it"
			flock "$lock"
		}
		if [ ! -e "$dir" ]; then
			rm -rf --one-file-system "$dir.tmp"
			mkdir "$dir.tmp"
			report "making the $what"
			SECONDS=0
			still "$what" "$BASHPID" &
			waiter=$!
			# Old package lists name files that a mirror has no more. A
			# list that cannot be had may not matter here.
			"$here/deps.sh" update || true
			"$@" "$dir.tmp"
			mv -T "$dir.tmp" "$dir"
			report "the $what is ready ($SECONDS s)"
		fi
		trap '[ -z "$waiter" ] || kill "$waiter"' EXIT
	)
}

host_suite() {
	local suite
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
	[ -n "$suite" ] || die "/etc/os-release names no suite: this is not a Debian release"
	echo "$suite"
}

# The mirror that the host's apt uses for Debian proper.
host_mirror() {
	local mirror
	# shellcheck disable=SC2016 # apt expands these
	mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' \
		'Created-By: Packages' |
		awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
	[ -n "$mirror" ] || die "apt knows no Debian mirror: run apt-get update as root"
	echo "$mirror"
}

# depends PACKAGE REGEX: which of the package's dependencies match.
depends() {
	apt-cache depends --important "$1" 2>/dev/null |
		sed -n 's/^ *Depends: //p' | grep -Ex "$2" || true
}

# fetch DIR PACKAGE...: download packages, and unpack them below DIR.
fetch() {
	local dir=$1 log deb
	shift
	mkdir "$dir.deb"
	log=$dir.deb/log
	if ! (cd "$dir.deb" && apt-get -q download "$@" >"$log" 2>&1); then
		cat "$log" >&2
		report "apt-get cannot download $* (are the lists old? apt-get update)"
		return 1
	fi
	mkdir -p "$dir"
	for deb in "$dir.deb"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "$dir.deb"
}
