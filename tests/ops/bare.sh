#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Link the operators and program images into a bare-metal program for riscv64,
# with no library at all but the compiler's own arithmetic. Prints TAP.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "TAP version 13"
echo "1..2"
if ! riscv64-unknown-elf-gcc -march=rv64imac -mabi=lp64 -mcmodel=medany -std=gnu11 -O2 \
	-Wall -Wextra -Wshadow -Wconversion -Werror -ffreestanding -nostdlib -static \
	-Icontract -Ilibvtadev/ops -Ilibvtadev/cpu -Ilibvtadev/program -o "$tmp/bare.elf" tests/ops/bare.c "$@" -lgcc > "$tmp/log" 2>&1; then
	sed 's/^/# /' "$tmp/log"
	echo "not ok 1 links without any library"
	exit 1
fi
echo "ok 1 links without any library"
riscv64-unknown-elf-nm "$tmp/bare.elf" > "$tmp/symbols"
riscv64-unknown-elf-size "$tmp/bare.elf" | sed 's/^/# /'
if grep -q ' U ' "$tmp/symbols" || ! grep -q ' T vtaops_conv2d' "$tmp/symbols"; then
	sed 's/^/# /' "$tmp/symbols"
	echo "not ok 2 has the operators, and lacks nothing"
	exit 1
fi
echo "ok 2 has the operators, and lacks nothing"
