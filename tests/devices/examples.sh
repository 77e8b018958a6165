#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# examples.sh - the examples, the operators and program images on a device in the process, without
# a VM: the same programs as on a card. Prints TAP.
#
#   tests/devices/examples.sh [DEVICE]
#
# DEVICE is soft by default.
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-devices.XXXXXX")
trap 'rm -rf "$dir"' EXIT
device=${1:-soft}
export VTADEV_PLUGINS=build/lib VTADEV_DEVICE=$device

# shellcheck source=tests/tap.sh
. tests/tap.sh
tap_log=$dir/log

# part NAME COMMAND...: a command that prints TAP of its own
part() {
	local name=$1 code=0

	shift
	"$@" > "$dir/log" 2>&1 < /dev/null || code=$?
	sed 's/^/    /' "$dir/log"
	result "$name" "$code"
}
# refused WORDS ARGUMENTS...: the program does not run, and the message has the words
refused() {
	local words=$1

	shift
	! build/tools/vtactl program run "$dir/digit.vtap" "$@" 2> "$dir/why" &&
		grep -q -- "$words" "$dir/why"
}
# no_card COMMAND...: passes where the driver has a card
no_card() {
	[ -e /sys/class/vta ] || "$@"
}
# printed NAME WORDS: the last check's program printed this
printed() {
	cp "$dir/log" "$dir/before"
	check "$1" grep -q -- "$2" "$dir/before"
}

echo "TAP version 13"
check "hello" build/examples/hello/hello
printed "hello names the device" "^hello from $device,"
check "digits" build/examples/digits/digits examples/digits/testset.bin
printed "2,000 digits equal the reference bit for bit" '^scores  *exact: 2000 of 2000 '
check "stream" build/examples/stream/stream
mkdir "$dir/share"
cp examples/digits/testset.bin examples/aot/scores.bin "$dir/share"
for example in byoc aot; do
	part $example env TMPDIR="$dir" PATH="$PWD/build/examples/$example:$PATH" \
		VTADEV_PLUGINS="$PWD/build/lib" tests/runtime/${example}_test.sh "$dir/share"
done

# As tests/ops/run.sh has cards.
for config in default batch2 inp4_wgt4; do
	check "operators on $config" \
		build/tests/ops/on_card "$device:tests/emu/configs/$config.json" 24
done

# A run for each image, on three at once.
build/examples/digits/digits-compile -b 1 "$dir/digit.vtap"
build/tests/ops/digits_raw examples/digits/testset.bin 100 "$dir/images" "$dir/scores"
check "100 runs go to three devices" build/tools/vtactl program run "$dir/digit.vtap" \
	--cards "$device,$device,$device" image="$dir/images" scores="$dir/got"
cp "$dir/log" "$dir/before"
check "each is up" [ "$(grep -c "^$device  *[0-9][0-9]*  *0  *0  up\$" "$dir/before")" = 3 ]
check "and score as the CPU does" cmp "$dir/got" "$dir/scores"
check "all named devices have to be there" refused "--cards: none-such: not the index" \
	--cards "$device,none-such" image="$dir/images" scores="$dir/got"
check "all devices are the one of VTADEV_DEVICE, where no card is" no_card \
	build/tools/vtactl program run "$dir/digit.vtap" --cards all image="$dir/images" scores="$dir/got"
head -c 1000 "$dir/images" > "$dir/part"
check "half an image is refused" \
	refused "bytes, each run takes 784" --cards "$device" image="$dir/part"
printed_json() {
	build/tools/vtactl program run "$dir/digit.vtap" --json --top=2 "$@" image="$dir/digit" |
		python3 -c 'import json, sys
a = json.load(sys.stdin)
sys.exit(len(a["runs"]) != 1 or [sorted(c) for c in a["runs"][0]["classes"]] !=
	[["class", "name", "value"]] * 2 or len(a.get("cards", [])) != int(sys.argv[1]))' $#
}
head -c 784 "$dir/images" > "$dir/digit"
check "--json prints classes as JSON" printed_json
check "and cards as well" printed_json "--cards=$device"
check "a device that is none is refused" refused "not the index" --cards none-such image="$dir/images"
check "vtactl lists the device" sh -c "build/tools/vtactl list --all | grep -q '^$device.*  -  -\$'"
check "vtactl shows a device in the process" \
	sh -c "build/tools/vtactl status '$device' | grep -q 'state  *in the process of a program'"
check "which is no card of the driver's, and dump says so" \
	sh -c "build/tools/vtactl dump '$device' 2>&1 | grep -q 'not a card of the driver'"

# says WORDS COMMAND...: fails, and the message has the words
says() {
	local words=$1

	shift
	! VTADEV_DEVICE=nosuch "$@" > "$dir/why" 2>&1 && cat "$dir/why" && grep -q -- "$words" "$dir/why"
}
while read -r command; do
	# shellcheck disable=SC2086
	check "without its device: ${command##*/}" says 'VTADEV_DEVICE=nosuch: not the index' $command
done <<END
build/tools/vtactl program run $dir/digit.vtap image=$dir/digit
build/tools/vtactl program run $dir/digit.vtap image=$dir/digit --cards=all
build/tools/vtactl test
build/tools/vtactl bench
build/examples/hello/hello
build/examples/digits/digits examples/digits/testset.bin
build/examples/stream/stream
build/examples/byoc/byoc examples/digits/testset.bin
build/examples/aot/aot examples/digits/testset.bin examples/aot/scores.bin
END
check "hello names a card that is not there" says 'no such card; vtactl list --all' build/examples/hello/hello vta4000
OCL_ICD_VENDORS=/nowhere check "hello without a driver of OpenCL" says 'OpenCL' build/examples/hello/hello opencl

# build-runtime asks for the device's configuration, as TVM writes it.
c++ -std=c++17 -Wall -Wextra -Werror -Iuapi -Ilibvtadev -o "$dir/card_config" \
	libvtadev/tvm/simulator/card_config.cc -Lbuild/lib -lvtadev -Wl,-rpath,"$PWD/build/lib"
settings() {
	tr -d ' ,{}' < "$1" | grep LOG_ | sort
}
for config in default batch2; do
	VTADEV_DEVICE=$device:tests/emu/configs/$config.json "$dir/card_config" > "$dir/config"
	check "TVM gets the configuration $config" \
		diff <(settings "$dir/config") <(settings "tests/emu/configs/$config.json")
done
check "which a device can be made of again" \
	env VTADEV_DEVICE="$device:$dir/config" "$dir/card_config"
echo "1..$n"
exit "$failed"
