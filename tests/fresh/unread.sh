#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# unread.sh DAY PACKAGE...: print those of the packages of which nothing was read since
# the times of access of all files were set to DAY. A package that has nothing but
# documentation counts for those that it depends on, python3 for python3-minimal,
# libpython3-dev for libpython3.13-dev, and a name that others provide for these. Says why
# and fails if reading leaves no trace here.
set -eu
shopt -s extglob
day=$1
shift

was_read() {
	[ "$(find "$@" -maxdepth 0 \( -type f -o -type l \) -newerat "$day 1 hour" \
		-printf x -quit 2>/dev/null)" = x ]
}

# files PACKAGE: without documentation, and without /bin and its like, which are links
files() {
	dpkg-query -L "$1" 2>/dev/null | grep '^/.*/' |
		grep -v '^/usr/share/\(doc\|man\|lintian\|bug\)' |
		while read -r file; do
			# Following a link reads it.
			if [ -L "$file" ] || [ ! -d "$file" ]; then echo "$file"; fi
		done
}

# depends PACKAGE
depends() {
	dpkg-query -W -f '${Pre-Depends},${Depends}\n' "$1" | sed 's/[,|]/\n/g' | sed 's/(.*//; s/:any//; s/ //g'
}

# stands_for PACKAGE OTHER: OTHER is a part of it, or its current version
stands_for() {
	[ "${2#"$1-"}" != "$2" ] || [ "${2/.+([0-9])/}" = "$1" ]
}

# provider NAME: the installed package of that name, or one that provides it
provider() {
	dpkg-query -W -f '${Package} ${Package}\n${Package} ${Provides}\n' |
		sed 's/(=[^)]*)//g; s/,//g' |
		awk -v name="$1" '$1 == name { print name; found = 1; exit }
			{ for (i = 2; i <= NF; i++) if ($i == name) other = $1 }
			END { if (!found) print other ? other : name }'
}

used() {
	local package own other others
	package=$(provider "$1")
	mapfile -t own < <(files "$package")
	[ ${#own[@]} -eq 0 ] || ! was_read "${own[@]}" || return 0
	for other in $(depends "$package"); do
		[ ${#own[@]} -eq 0 ] || stands_for "$package" "$other" || continue
		mapfile -t others < <(files "$other")
		[ ${#others[@]} -eq 0 ] || ! was_read "${others[@]}" || return 0
	done
	return 1
}

probe=$(mktemp)
echo >"$probe"
touch -a -d "$day" "$probe"
cat "$probe" >/dev/null
if ! was_read "$probe"; then
	echo 'the file system keeps no times of access'
	exit 1
fi
for package; do
	used "$package" || echo "$package"
done | paste -sd' '
