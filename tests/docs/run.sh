#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run every code block of the documents, as docs/testing.md describes. C is compiled and
# linked as a reader would do it, against the installed library; commands run in this tree,
# or in the VM on an emulated card. Prints TAP.
#
#   tests/docs/run.sh VTA.KO [DOCUMENT...]
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$1
shift
documents=("$@")
whole=()
if [ $# -eq 0 ]; then
	whole=(--all)
	mapfile -t documents < <(git ls-files -co --exclude-standard '*.md' |
		while read -r f; do [ ! -f "$f" ] || echo "$f"; done)
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-docs.XXXXXX")
trap 'rm -rf "$dir"' EXIT
blocks=$dir/blocks
mkdir "$blocks"
# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log

# all KIND: the blocks of that kind that there are
all() {
	find "$blocks/$1" -name "*.$2" | sort
}
name() {
	cat "${1%.*}.name"
}

# part NAME COMMAND...: nested TAP
part() {
	local name=$1 status=0

	shift
	"$@" > "$dir/part" 2>&1 || status=$?
	sed 's/^/    /' "$dir/part"
	tap_log='' result "$name" $status
}

echo "TAP version 13"
part "blocks say what they are" tests/docs/blocks.py "${whole[@]}" "$blocks" "${documents[@]}"

# Installed elsewhere than where it will be: pkg-config puts that before paths. A
# document's own `make install` goes there too.
export DESTDIR=$dir/root
make -s --no-print-directory install > "$dir/install.log" 2>&1 || {
	cat "$dir/install.log"
	exit 1
}
lib=$(find "$DESTDIR" -name pkgconfig -printf '%h' -quit)
flags() {
	PKG_CONFIG_SYSROOT_DIR=$DESTDIR PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "$@"
}
read -ra cflags <<< "$(flags --cflags vtaprog vta_driver) -Iexamples/deviceapi"
read -ra libs <<< "$(flags --libs vta_driver vtaprog)"
mapfile -t samples < <(all c c)
objects=()
for sample in "${samples[@]}"; do
	read -ra own < "${sample%.c}.dirs" || :
	check "$(name "$sample") compiles" cc -std=gnu11 -Wall -Wextra -Werror -O2 \
		"${cflags[@]}" "${own[@]/#/-I}" -c -o "${sample%.c}.o" "$sample"
	[ ${#own[@]} -gt 0 ] || objects+=("${sample%.c}.o")
done
# All of them together: what they call is there. With all documents, samples.c calls
# them, on the card.
main=tests/docs/samples.c
if [ ${#whole[@]} -eq 0 ]; then
	main=$dir/main.c
	echo 'int main(void) { return 0; }' > "$main"
fi
check "${#objects[@]} samples link" cc -o "$dir/samples" "$main" \
	"${objects[@]}" examples/deviceapi/vta_device_api.c -D_GNU_SOURCE "${cflags[@]}" \
	"${libs[@]}" -lcmocka -lm -pthread -Wl,-rpath,"$lib"

[ ${#whole[@]} -eq 0 ] || part "the samples on the device soft" env VTADEV_DEVICE=soft \
	CMOCKA_MESSAGE_OUTPUT=TAP "$dir/samples"

for script in $(all host sh); do
	check "$(name "$script") runs" timeout 1700 sh -eux "$script"
done

# The tree as it is on a machine with a card, and the files that documents speak of.
release=$(tools/vm/vm krelease --kernel "${VM_KERNEL:-host}")
build/examples/digits/digits-compile -b 1 "$dir/digits.vtap"
build/tests/ops/digits_raw examples/digits/testset.bin 1 "$dir/digit.raw" "$dir/scores.raw"
part "on a card" tools/vm/vm run --kernel "${VM_KERNEL:-host}" \
	--timeout 1800 --file "$module:/lib/vta.ko" \
	--file "$module:/tree/build/module/$release/vta.ko" \
	--file build/tools/vtactl:/bin/vtactl --file build/tools/vtactl:/tree/build/tools/vtactl \
	--file build/examples/digits/digits:/bin/digits \
	--file build/examples/hello/hello:/tree/hello \
	--file build/examples/aot/aot:/tree/build/examples/aot/aot \
	--file build/examples/byoc/byoc:/tree/build/examples/byoc/byoc \
	--file build/examples/deviceapi/deviceapi_test:/tree/build/examples/deviceapi/deviceapi_test \
	--file examples/aot/scores.bin:/tree/examples/aot/scores.bin \
	--file examples/digits/testset.bin:/tree/examples/digits/testset.bin \
	--file tests/docs/program.sh:/tree/program \
	--file "$dir/digits.vtap:/tree/digits.vtap" --file "$dir/digit.raw:/tree/digit.raw" \
	--file "$dir/samples:/bin/samples" --file "$blocks/card:/blocks" -- tests/docs/guest.sh
echo "1..$n"
exit "$failed"
