#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# output.sh - files that programs write: links, FIFOs, devices, standard output, full disks, two
# writers; and a standard output that is closed or full
#
#   tests/cli/output.sh VTAC VTACTL EMULATOR HELLO DIGITS IMAGE.vtap
#
# HELLO and DIGITS are examples, IMAGE a program of its network. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
set -u

# A small disk to fill
if [ "$(id -u)" -eq 0 ] && [ $# -eq 6 ] && unshare -m true 2> /dev/null; then
	exec unshare -m "$0" "$@" small
fi

vtac=$(realpath "$1") vtactl=$(realpath "$2") emulator=$(realpath "$3") hello=$(realpath "$4")
digits=$(realpath "$5") image=$(realpath "$6")
top=$(realpath "$(dirname "$0")/../..")
model=/usr/share/libonnx-testdata/data/simple/test_single_relu_model/model.onnx
dir=$(mktemp -d)
trap 'cd /; umount "$dir/small" 2> /dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/small"
[ -z "${7-}" ] || mount -t tmpfs -o size=512k none "$dir/small"
export VTADEV_PLUGINS=$top/build/lib VTADEV_DEVICE=soft

# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tap_log=$dir/log

# ---- Writers: each writes to the file that is its argument ----

compile() { "$vtac" compile -q --no-card "$model" -o "$1"; }
graph() { "$vtac" compile --dump-after=read "$model" -o "$1"; }
bundle() { "$vtactl" dump -o "$1"; }
metrics() { "$vtactl" export -o "$1"; }
record() { "$vtactl" trace -o "$1" -- true; }
run() { "$vtactl" program run "$image" image="$dir/picture" scores="$1"; }
array() { "$vtactl" program run "$image" image="$dir/picture" scores="$1.npy" && mv "$1.npy" "$1"; }
runs() { "$vtactl" program run --cards soft "$image" image="$dir/pictures" scores="$1"; }
traced() { VTADEV_TRACE=$1 "$vtactl" program run "$image" image="$dir/picture"; }

head -c 784 /dev/zero > "$dir/picture"
head -c 1568 /dev/zero > "$dir/pictures"
writers="bundle metrics record run runs traced"
[ ! -e "$model" ] || writers="compile graph $writers"

# A directory of its own for each check
fresh() {
	cd "$dir" && rm -rf out && mkdir out && cd out && echo old > file
}
is_old() { [ "$(cat file)" = old ]; }

replaced() {
	fresh && "$1" file && ! is_old && [ -s file ] && [ "$(ls -A)" = file ]
}
linked() {
	fresh && mkdir below && mv file below && ln -s below/file link && "$1" link &&
		[ -L link ] && [ -f below/file ] && [ ! -L below/file ] &&
		[ "$(head -c 4 below/file)" != old ] && [ "$(ls -A below)" = file ]
}
# A reader gets all of it, and the FIFO stays.
fifo() {
	fresh && mkfifo fifo || return 1
	timeout 60 cat fifo > got &
	"$1" fifo && wait $! && [ -p fifo ] && [ -s got ]
}
# A device of our own: a wrong program would replace the machine's
device() {
	fresh && mknod full c 1 7 || return 1
	! "$1" full 2> err && [ -c full ] && grep 'No space left on device' err
}
to_stdout() {
	local name

	for name in - /dev/stdout; do
		fresh && "$1" "$name" > got && [ -s got ] && is_old && [ ! -e ./- ] || return 1
	done
}
# Standard output is a file that has something: it is added to.
appended() {
	fresh && "$1" /dev/stdout >> file && [ "$(head -n 1 file)" = old ] &&
		[ "$(wc -c < file)" -gt 4 ]
}
# without_room COMMAND...: fails on a disk that fills_up has filled, and says why
fills_up() { ! dd if=/dev/zero of=rest bs=4k; }
without_room() { ! "$@" 2> "$dir/err" && cat "$dir/err" && grep 'No space left on device' "$dir/err"; }
full() {
	local file

	for file in file new; do
		cd "$dir/small" && rm -rf -- * && echo old > file && fills_up || return 1
		without_room "$1" "$file" && is_old && [ "$(ls -A)" = "file
rest" ] || return 1
	done
}

# ---- vtac ----

at_once() {
	local pair first

	fresh || return 1
	for ((pair = 0; pair < 60; pair++)); do
		compile both &
		first=$!
		compile both && wait "$first" && "$vtac" report both > /dev/null || return 1
	done
	[ "$(ls -A)" = "both
file" ]
}
# A program's temporary name, foreseen by another user, overwrites no file.
no_part() {
	fresh && ln -s file new.part && compile new && is_old && [ -L new.part ]
}
# Neither the program nor the report has bytes of the other.
apart() {
	fresh && compile whole && "$vtac" compile --no-card "$model" -o - > got 2> said &&
		cmp whole got && "$vtac" compile --no-card "$model" -o whole > report &&
		cmp report said
}
c_code() { "$vtac" compile -q --no-card --emit=c "$model" -o "$1"; }
# The old files stay together: a new header would not fit old weights.
c_is_whole() {
	cd "$dir/small" && rm -rf -- * && c_code code && sed -i '1i // old' code/* &&
		cp -r code "$dir/before" && fills_up && without_room c_code code &&
		diff -r code "$dir/before"
}

# ---- The last flush ----

# ends STATUS COMMAND...: and says why on stderr
ends() {
	local want=$1 got=0

	shift
	"$@" 2> "$dir/err" || got=$?
	cat "$dir/err" >&2
	[ "$got" -eq "$want" ] && grep -q 'standard output: ' "$dir/err"
}
full_stdout() { ends 1 "$@" > /dev/full; }
closed_stdout() { ends 1 "$@" >&-; }

echo "TAP version 13"
for writer in $writers; do
	check "$writer: a file is replaced" replaced "$writer"
	check "$writer: a link's target is replaced" linked "$writer"
	check "$writer: a FIFO is written to" fifo "$writer"
	check "$writer: to standard output" to_stdout "$writer"
	check "$writer: to a file that is standard output" appended "$writer"
done
# A program that is traced ends as it does without, so no status is wrong there.
for writer in ${writers% traced}; do
	if [ "${7-}" ]; then
		check "$writer: a device is written to" device "$writer"
		check "$writer: on a full disk the old file stays alone" full "$writer"
	else
		skip "$writer: devices and full disks" "needs root and mount namespaces"
	fi
done

if [ -e "$model" ]; then
	check "vtac: 60 times two at once write one file" at_once
	check "vtac: a link in place of a part is not followed" no_part
	check "vtac: program and report are apart" apart
	[ -z "${7-}" ] || check "vtac: C on a full disk leaves the old files" c_is_whole
else
	skip "vtac" "no $model (package libonnx-testdata)"
fi

for command in "$emulator --help" "$emulator --version" "$vtactl --help" "$vtactl dump --help" \
	"$vtac --help" "$vtac passes" "$vtactl program info $image" "$vtactl export" \
	"$hello" "$digits $top/examples/digits/testset.bin"; do
	name=${command##*/}
	# shellcheck disable=SC2086 # the command's words
	check "${name%.*}: standard output that is full is an error" full_stdout $command
	# shellcheck disable=SC2086
	check "${name%.*}: standard output that is closed is an error" closed_stdout $command
done
echo "1..$n"
exit $failed
