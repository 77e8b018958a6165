#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs linked or compiled at the last release must run with this driver and these
# libraries: prints TAP.
#
#   tests/abi/run.sh		compare what is built in build/lib, and uapi/vta.h, with
#				what tests/abi/recorded says of the release
#   tests/abi/run.sh record	make tests/abi/recorded, for a release: docs/changing.md
#
# Functions, fields in room that was reserved, and constants may have been added; anything
# else that abidiff finds fails. So that its silence means something, a lost function, a
# changed structure and a changed constant of a library made here must be found.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../.."
recorded=tests/abi/recorded
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vta-abi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# fold FILE: a line of its own for each field and each function
fold() {
	sed -zEi 's/>\n *<(var-decl|parameter|return)/><\1/g
		s#/>\n *</(data-member|function-decl|function-type)>#/></\1>#g' "$1"
}

# dump LIBRARY HEADERS FILE: the functions and data that LIBRARY exports, with the types that
# its headers in the directory HEADERS define, without places in files
dump() {
	abidw --exported-interfaces-only --drop-private-types --headers-dir "$2" --no-show-locs \
		--no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names \
		--no-write-default-sizes --out-file "$3" "$1"
	fold "$3"
}

# dump_types HEADER FILE: every structure and enumeration of HEADER. A function for each
# makes it a part of a library's interface.
dump_types() {
	local dir=$tmp/types name

	mkdir -p "$dir"
	name=$(basename "$1")
	cp "$1" "$dir"
	{
		echo "#include \"$name\""
		sed -nE 's/^((struct|enum|union) ([a-z_0-9]+)) \{$/void of_\3(\1 *a); void of_\3(\1 *a) { (void)a; }/p' "$1"
	} > "$dir/types.c"
	cc -g -shared -fPIC -nostdlib -o "$dir/types.so" "$dir/types.c"
	abidw --exported-interfaces-only --no-show-locs --no-corpus-path --no-comp-dir-path \
		--no-elf-needed --no-parameter-names --no-write-default-sizes --out-file "$2" \
		"$dir/types.so"
	fold "$2"
	rm -r "$dir"
}

# dump_constants HEADER FILE: its macros, but for versions, which releases change
dump_constants() {
	gcc -E -dM -x c "$1" | grep -E '^#define VTA_' |
		grep -vE '^#define VTA_(ABI_)?VERSION ' | LC_ALL=C sort > "$2"
}

# dump_all DIR
dump_all() {
	mkdir -p "$1" "$tmp/headers"
	cp libvtadev/vtadev*.h libvtadev/{program,ops,cpu}/vta*.h uapi/vta.h libvtadev/tvm/vta/*.h \
		"$tmp/headers"
	dump build/lib/libvtadev.so "$tmp/headers" "$1/libvtadev.abi"
	dump build/lib/libvtaprog.so "$tmp/headers" "$1/libvtaprog.abi"
	dump build/lib/libvta_driver.so "$tmp/headers" "$1/libvta_driver.abi"
	dump build/lib/libvtadev-soft.so "$tmp/headers" "$1/plugin.abi"
	dump_types uapi/vta.h "$1/vta.h.abi"
	dump_constants uapi/vta.h "$1/vta.h.constants"
}

# same OLD NEW: of two files that the above made
same() {
	if [[ $1 = *.constants ]]; then
		# Lines of the old one alone: lost, or with another value.
		LC_ALL=C comm -23 "$1" "$2" > "$tmp/diff"
		[ ! -s "$tmp/diff" ]
	else
		abidiff --no-added-syms "$1" "$2" > "$tmp/diff" 2>&1
	fi
}

# noticed OLD NEW WORD: that they differ, in WORD
noticed() {
	! same "$1" "$2" && grep -q "$3" "$tmp/diff"
}

# library NAME [CHANGE]: of two functions and one structure, its header edited by sed's CHANGE,
# as $tmp/NAME.abi, NAME.h.abi and NAME.h.constants
library() {
	local dir=$tmp/$1

	mkdir "$dir"
	sed "${2-}" > "$dir/one.h" <<-'END'
		#define VTA_ONE 1
		struct one {
			int field;
		};
		int one_get(struct one *one);
		int one_put(struct one *one);
	END
	{
		echo '#include "one.h"'
		sed -n 's/^\(int one_.*\);$/\1 { return one->field; }/p' "$dir/one.h"
	} > "$dir/one.c"
	cc -g -shared -fPIC -nostdlib -o "$dir/one.so" "$dir/one.c"
	dump "$dir/one.so" "$dir" "$tmp/$1.abi"
	dump_types "$dir/one.h" "$tmp/$1.h.abi"
	dump_constants "$dir/one.h" "$tmp/$1.h.constants"
}

# packaged LIBRARY: debian/*.symbols lists the functions that it exports
packaged() {
	diff <(sed -n "/^$1\.so/,/^lib/s/^ \([^@]*\)@.*/\1/p" debian/*.symbols | LC_ALL=C sort) \
		<(nm -D --defined-only "build/lib/$1.so" | sed 's/.* //; s/@.*//' | LC_ALL=C sort) \
		> "$tmp/diff"
}

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$tmp/diff

if [ "${1-}" = record ]; then
	dump_all $recorded
	exit
fi

echo 'TAP version 13'
echo '1..14'
dump_all "$tmp/now"
for of in libvtadev.abi:'programs that use libvtadev' \
	  libvtaprog.abi:'programs that use libvtaprog' \
	  libvta_driver.abi:'programs that use libvta_driver' \
	  plugin.abi:'plugins with devices' \
	  vta.h.abi:'structures of ioctls' \
	  vta.h.constants:'constants of ioctls'; do
	same "$recorded/${of%%:*}" "$tmp/now/${of%%:*}" && true
	result "${of#*:} of the last release are valid" $?
done
for of in libvtadev libvtaprog libvta_driver; do
	packaged $of && true
	result "the package lists what $of exports" $?
done
library old
library lost '/one_get/d'
library changed 's/int field/int inserted, field/; s/VTA_ONE 1/VTA_ONE 2/'
library added '/one_put/i int one_added(struct one *one);'
same "$tmp/old.abi" "$tmp/added.abi" && true
result 'an added function is none of it' $?
noticed "$tmp/old.abi" "$tmp/lost.abi" one_get && true
result 'a lost function is noticed' $?
noticed "$tmp/old.abi" "$tmp/changed.abi" inserted && true
result 'a changed structure is noticed' $?
noticed "$tmp/old.h.abi" "$tmp/changed.h.abi" inserted && true
result 'a changed structure of a header is noticed' $?
noticed "$tmp/old.h.constants" "$tmp/changed.h.constants" 'VTA_ONE 1' && true
result 'a changed constant is noticed' $?
exit $failed
