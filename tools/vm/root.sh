# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the roots' shells, and variables of other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# Debian in a root directory, for what the host's own release does not have.

# For roots of which nothing is read but by programs.
no_docs=(--dpkgopt='path-exclude=/usr/share/'{doc,man,locale}'/*')

# mmdebstrap_failed LOG...: print the first error of mmdebstrap's log, and the end of all logs
mmdebstrap_failed() {
	report "mmdebstrap: $(grep -m 1 -iE '^E:|error|denied|cannot|unable|fail|no space|not found' "$1" ||
		tail -n 1 "$1")"
	cat "$@" | tail -n 30 >&2
}

# root_make DIR SUITE SCRIPT [ARGUMENT...]: make a root of the suite in DIR and
# have its shell run SCRIPT in it, to install what the root is for. A suite of
# backports is its release with backports preferred in everything.
root_make() {
	local dir=$1 suite=$2 script=$3 mirror options
	shift 3
	mirror=$(host_mirror)
	root_options
	mkdir -p "$dir"
	# Through a tar, so that all files belong to the owner of the cache, and
	# in a mount namespace, so that no interruption leaves mounts behind.
	namespaced mmdebstrap "${options[@]}" "${no_docs[@]}" \
		--customize-hook="$(root_hook "$suite" "$mirror" "$script" "$@")" \
		--customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
		"${suite%-backports}" - "$mirror" 2>"$dir/log" |
		tar -x -C "$dir" --no-same-owner --exclude='./dev/*' 2>"$dir/log.tar" || {
		mmdebstrap_failed "$dir/log" "$dir/log.tar"
		return 1
	}
	rm -f "$dir/log" "$dir/log.tar"
}

# root_archive ARCHIVE SUITE OPTION...: make ARCHIVE, a tar of a root of the suite, with more
# options to mmdebstrap
root_archive() {
	local archive=$1 suite=$2 options
	shift 2
	root_options
	namespaced mmdebstrap "${options[@]}" "$@" "$suite" "$archive" "$(host_mirror)" \
		2>"${archive%/*}/log" || {
		mmdebstrap_failed "${archive%/*}/log"
		return 1
	}
}

# Sets options to mmdebstrap's for every root. A mirror may be a frozen one: Valid-Until is
# not checked.
root_options() {
	local proxy
	proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
	: "${proxy:=${http_proxy-}}"
	options=(--quiet --variant=apt --dpkgopt=force-unsafe-io
		--aptopt='Acquire::Check-Valid-Until "false"'
		--aptopt='Acquire::Retries "3"'
		--aptopt='APT::Install-Recommends "false"')
	[ -z "$proxy" ] || options+=("--aptopt=Acquire::http::Proxy \"$proxy\"")
}

# The commands that make the one suite out of the other, and run the script.
root_hook() {
	local suite=$1 mirror=$2
	shift 2
	if [ "$suite" != "${suite%-backports}" ]; then
		echo "echo 'deb $mirror $suite main' >\"\$1/etc/apt/sources.list.d/backports.list\""
		echo "echo 'APT::Default-Release \"$suite\";' >\"\$1/etc/apt/apt.conf.d/backports\""
		echo 'chroot "$1" apt-get -q update >&2'
	fi
	printf 'chroot "$1" sh -euc %s >&2\n' "$(quote "$1" sh "${@:2}")"
}

# Root needs a mount namespace only; mmdebstrap makes its own for others.
namespaced() {
	if [ "$(id -u)" -eq 0 ]; then
		unshare --mount "$@"
	else
		"$@"
	fi
}

# root_need: what making and entering a root takes.
root_need() {
	need mmdebstrap
	[ "$(id -u)" -eq 0 ] || need uidmap
}

# "${chroot_run[@]}" ROOT DIR COMMAND...: see chroot.sh. The mounts are in a
# namespace that ends with the command, so they cannot outlive it.
userns=()
[ "$(id -u)" -eq 0 ] || userns=(--user --map-root-user)
chroot_run=(unshare "${userns[@]}" --mount "$here/chroot.sh")
