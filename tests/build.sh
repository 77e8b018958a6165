#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - the files that make builds again after a change, by make -n, and what it finds installed.
# Prints TAP.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
hello=build/examples/hello/hello
checker=build/tests/stream/check_trace
make -s "$hello" "$checker" >/dev/null

# shellcheck source=tests/tap.sh
. tests/tap.sh

# compiled CHANGED TARGET OBJECT: TARGET needs OBJECT compiled once CHANGED has changed
compiled() {
	make -n -W "$1" "$2" | grep -F -- "-c -o $3 " >/dev/null
}

# moved TARGET OBJECT: TARGET is made although OBJECT was made of a source that has gone
moved() {
	local status=0

	echo "$2: $(dirname "$0")/a-source-before-it-moved.c" > "${2%.o}-moved.d"
	make -n "$1" >/dev/null || status=1
	rm "${2%.o}-moved.d"
	return $status
}

echo 'TAP version 13'
echo '1..10'
compiled examples/hello/hello.c "$hello" "$hello.obj/examples/hello/hello.o" && true
result 'a changed source is compiled' $?
compiled libvtadev/vtadev.h "$hello" "$hello.obj/examples/hello/hello.o" && true
result "a changed header of the library's compiles the programs that include it" $?
compiled libvtadev/vtadev.h "$hello" build/lib/obj/buf.o && true
result 'a changed header compiles the library that includes it' $?
compiled tests/lib/trace_json.h "$checker" "$checker.obj/tests/stream/check_trace.o" && true
result "a changed header of another part's compiles the tests that include it" $?
! compiled tests/lib/trace_json.h "$hello" "$hello.obj/examples/hello/hello.o" && true
result 'a changed header compiles nothing that does not include it' $?
moved "$hello" "$hello.obj/examples/hello/hello.o" && true
result 'a source that has moved does not break an existing build directory' $?
# With a compiler that is not there, and the commands that make prints for a change.
said=$(make CC=no-such-cc "$hello" 2>&1) && true
[ "$(grep -c 'make user-deps' <<<"$said")" -eq 1 ] && [[ $said = *no-such-cc* ]] && true
result 'without a compiler make says which command installs it' $?
said=$(make -W examples/hello/hello.c "$hello" 2>&1) && [[ $said != *' -c -o '* ]] && [[ $said = *V=1* ]] && true
result 'make prints no commands' $?
said=$(make V=1 -W examples/hello/hello.c "$hello" 2>&1) && [[ $said = *' -c -o '* ]] && true
result 'V=1 prints them' $?
# As test-deps installs packages, of which the parts of a check are conditions.
late=$(mktemp -u "${TMPDIR:-/tmp}/vta-build.XXXXXX")
trap 'rm -f "$late"' EXIT
# shellcheck disable=SC2016 # the variables of make
said=$(make -s ONNX_PROTO="$late" --eval='late-file:; @touch $(ONNX_PROTO)' \
	--eval='late: late-file; @echo "$(CHECKS)"' late) && [[ $said = *tests/onnxruntime/run.sh* ]] && true
result 'make check runs parts whose packages it has just installed' $?
exit $failed
