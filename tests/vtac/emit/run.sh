#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The C that vtac writes is the same each time, needs no operating system, and computes the results
# of the program image, or of TVM's executor. Prints TAP.
#
#   tests/vtac/emit/run.sh EMIT CARD.C MIXED_FILES LIBRARY_SOURCE...
#
# CARD.C runs the network of MIXED_FILES on the emulator's core; what it is linked with
# is in LINK.
set -eu
cd "$(dirname "$0")/../../.."
emit=$1
card=$2
files=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log
# refused WHAT TEXT COMMAND...: it fails with 1 and says why
refused() {
	local what=$1 text=$2 status=0
	shift 2
	"$@" >"$dir/log" 2>&1 || status=$?
	{ [ $status -eq 1 ] && grep -q -- "$text" "$dir/log"; } || status=99
	[ $status -eq 1 ] && status=0
	result "$what" $status
}
strict='-O2 -Wall -Wextra -Werror -std=c11 -ffreestanding'
includes='-Icontract -Ilibvtadev/ops -Ilibvtadev/cpu -Ilibvtadev/program -Ilibvtadev -Iuapi'
bare='riscv64-unknown-elf-gcc -march=rv64imac -mabi=lp64 -mcmodel=medany'

mkdir "$dir/files"
"$files" "$dir/files"
check "a program image becomes C" "$emit" "$dir/files/mixed.vtap" mixed "$dir/c"
"$emit" "$dir/files/mixed.vtap" mixed "$dir/again"
check "the same image, the same bytes" diff -r "$dir/c" "$dir/again"
# shellcheck disable=SC2086 # words
check "model.c needs no operating system" \
	gcc $strict $includes -I"$dir/c" -c -o "$dir/model.o" "$dir/c/model.c"
check "it neither allocates nor prints" \
	sh -c "! grep -nE 'malloc|calloc|stdio|printf' '$dir/c/model.c' '$dir/c/model.h'"
# shellcheck disable=SC2086
check "main.c is a program for libvtadev" gcc -O2 -Wall -Wextra -Werror -std=gnu11 $includes \
	-I"$dir/c" -c -o "$dir/main.o" "$dir/c/main.c"

cat >"$dir/bare.c" <<-END
	#include <stddef.h>
	#include "model.h"
	void *memset(void *dst, int value, size_t count)
	{ char *d = dst; while (count--) *d++ = (char)value; return dst; }
	void *memcpy(void *dst, const void *src, size_t count)
	{ char *d = dst; const char *s = src; while (count--) *d++ = *s++; return dst; }
	int memcmp(const void *a, const void *b, size_t count)
	{ const char *x = a, *y = b; for (; count--; x++, y++) if (*x != *y) return *x - *y; return 0; }
	static char memory[MIXED_WORKSPACE_SIZE] __attribute__((aligned(64)));
	static float image[81], scores[24];
	void _start(void)
	{
		struct mixed_devices devices = { 0 };
		mixed_run(&(struct mixed_inputs) { image }, &(struct mixed_outputs) { scores },
			  &(struct mixed_workspace) { memory }, &devices);
		for (;;)
			;
	}
END
# shellcheck disable=SC2086
check "it links for riscv64 without any library" $bare -std=gnu11 -O2 -ffreestanding -nostdlib -static \
	-ffunction-sections -Wl,--gc-sections $includes -I"$dir/c" -o "$dir/bare.elf" "$dir/bare.c" \
	"$dir/c/model.c" "$@" -lgcc
riscv64-unknown-elf-size "$dir/bare.elf" | sed 's/^/# /'

"$emit" "$dir/files/mixed.vtap" mixed "$dir/c"
# shellcheck disable=SC2086
check "it links with the emulator's core" sh -c "gcc -std=gnu11 -I'$dir/c' $includes -Icard \
	-pthread -fsanitize=address,undefined -o '$dir/card' '$card' '$dir/model.o' $LINK"
check "it runs" "$dir/card" "$dir/files/image.npy" "$dir/scores"
check "its scores are the image's, to the bit" cmp "$dir/scores" "$dir/files/scores.raw"

tvm=tests/vtac/tvm
check "TVM's graph becomes C" "$emit" --tvm $tvm/graph.json $tvm/params.bin net "$dir/tvm" $tvm/lib0.c
"$emit" --tvm $tvm/graph.json $tvm/params.bin net "$dir/tvm2" $tvm/lib0.c
check "the same graph, the same bytes" diff -r "$dir/tvm" "$dir/tvm2"
check "it is a program" make -s -C "$dir/tvm" CFLAGS='-O2 -ffp-contract=off'
for f in model backend; do
	# shellcheck disable=SC2086
	check "$f.c needs no operating system" gcc $strict -I"$dir/tvm" -c -o "$dir/$f.o" "$dir/tvm/$f.c"
done
# shellcheck disable=SC2086
check "for riscv64 too" $bare $strict -I"$dir/tvm" -c -o "$dir/model.o" "$dir/tvm/model.c"
for i in 0 1 2; do
	check "input $i gives" "$dir/tvm/main" $tvm/in$i.bin "$dir/out"
	check "what TVM's executor computed" cmp "$dir/out" $tvm/out$i.bin
done

# edited SED-SCRIPT: the graph, changed
# shellcheck disable=SC2317 # called by refused
edited() {
	sed "$1" "$tvm/graph.json" >"$dir/graph.json"
	"$emit" --tvm "$dir/graph.json" "$tvm/params.bin" net "$dir/bad" "$tvm/lib0.c"
}
refused "a function that is no name" 'not a call of a function of C' edited 's/__nop/a b()/'
refused "another operator" 'not a call of a function of C' edited 's/"tvm_op"/"other"/'
refused "an input from behind" 'is not from an earlier node' edited 's/^          15, *$/          16,/'
refused "a type that is not known" 'which is not known' edited '0,/"float32"/s//"float99x"/'
refused "another device without a copy" 'there is no __copy between' \
	edited '/"device_index"/,/\]/{0,/^ *1, *$/s//12,/}'
refused "a shape that is too large" 'larger than 1 GiB' edited 's/\[1, 1, 16, 16\]/[1, 1, 16, 99999999]/'
refused "a parameter of another shape" 'has another shape' edited 's/^ *\[8, 1, 3, 3\]/[8, 1, 3, 4]/'
refused "no JSON" 'not JSON' edited 's/{/(/'
head -c 3000 $tvm/params.bin >"$dir/params"
refused "parameters that are cut off" 'cut off' \
	"$emit" --tvm $tvm/graph.json "$dir/params" net "$dir/bad" $tvm/lib0.c
refused "parameters that are none" 'relay.save_param_dict' \
	"$emit" --tvm $tvm/graph.json $tvm/in0.bin net "$dir/bad" $tvm/lib0.c
refused "a source that is not there" 'No such file' \
	"$emit" --tvm $tvm/graph.json $tvm/params.bin net "$dir/bad" "$dir/none.c"

echo "1..$n"
exit $failed
