#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# compile.sh - the command vtac: exit status and messages, dumps, reports, the same bytes each time.
# Prints TAP. Tests of real models are skipped if these are neither cached nor to be fetched.
#
#   tests/vtac/compile.sh VTAC
# shellcheck disable=SC2317 # functions that check calls
set -u

vtac=$1
here=$(cd "$(dirname "$0")" && pwd)
data=/usr/share/libonnx-testdata/data
small=$data/simple/test_single_relu_model/model.onnx
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
tap_log=$dir/log

# ends STATUS TEXT ARGUMENT...: it ends with this status, and a message that has the text
ends() {
	local status=$1 text=$2 got=0

	shift 2
	"$vtac" "$@" > "$dir/out" 2> "$dir/err" || got=$?
	cat "$dir/err"
	[ "$got" -eq "$status" ] && grep -qF -- "$text" "$dir/err"
}
same_twice() {
	"$vtac" compile "$@" -q -o "$dir/one" && "$vtac" compile "$@" -q -o "$dir/two" &&
		cmp "$dir/one" "$dir/two"
}
# Every pass's dump is the same each time, and graphviz can read its picture.
dumps() {
	local pass

	for pass in $("$vtac" passes | sed 's/ .*//'); do
		same_dump "$pass" "$@" || return 1
	done
}
same_dump() {
	local pass=$1

	shift
	"$vtac" compile --dump-after="$pass" "$@" > "$dir/one" || return 1
	"$vtac" compile --dump-after="$pass" "$@" > "$dir/two" || return 1
	cmp "$dir/one" "$dir/two" || return 1
	grep -q '^graph ' "$dir/one" || return 1
	"$vtac" compile --dot --dump-after="$pass" "$@" > "$dir/dot" || return 1
	grep -q '^digraph' "$dir/dot" && [ "$(tail -n 1 "$dir/dot")" = '}' ]
}
json() {
	"$vtac" compile -j "$@" -o "$dir/program" | python3 -m json.tool > "$dir/one" || return 1
	"$vtac" report -j "$dir/program" | python3 -m json.tool > "$dir/two" || return 1
	cmp "$dir/one" "$dir/two"
}
text() {
	"$vtac" compile "$@" -o "$dir/program" > "$dir/one" || return 1
	"$vtac" report "$dir/program" > "$dir/two" || return 1
	cmp "$dir/one" "$dir/two"
}
# The same bytes each time, near float on real images, and a warning that a model that needs no
# images does not get.
by_random() {
	same_twice "$1" && "$vtac" compile -j "$@" > "$dir/one" 2> "$dir/two" || return 1
	grep -q "WARNING: there are no images" "$dir/two" &&
		python3 -c '
import json, sys
report = json.load(sys.stdin)
assert "of 8 random inputs: accuracy not known" in report["integers"], report["integers"]
assert report["sqnr"] > 20 and report["cycles"], report["sqnr"]' < "$dir/one" || return 1
	"$vtac" compile -j --no-card "$1" > "$dir/one" 2> "$dir/two" &&
		[ "$(grep -c WARNING "$dir/two")" = 0 ]
}
as_c() {
	"$vtac" compile --emit=c -q -o "$dir/c" "$@" && [ -s "$dir/c/model.c" ] &&
		gcc -std=c11 -Wall -Werror -ffreestanding -fsyntax-only -I"$here/../../libvtadev/ops" \
			-I"$here/../../libvtadev/cpu" -I"$here/../../libvtadev/program" "$dir/c/model.c"
}
# PNG files of 28 x 28 grey pixels
pictures() {
	mkdir "$dir/pictures" && python3 - "$dir/pictures" <<-'EOF'
		import struct, sys, zlib
		def chunk(kind, data):
		    return (struct.pack(">I", len(data)) + kind + data +
		            struct.pack(">I", zlib.crc32(kind + data)))
		for i in range(3):
		    rows = b"".join(b"\0" + bytes((x * (y + i)) % 256 for x in range(28))
		                    for y in range(28))
		    with open(f"{sys.argv[1]}/{i}.png", "wb") as f:
		        f.write(b"\x89PNG\r\n\x1a\n" +
		                chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
		                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
	EOF
}
no_trace() {
	mkdir "$dir/none" && ! "$vtac" compile -q "$1" -o "$dir/none/never" &&
		[ -z "$(ls -A "$dir/none")" ]
}

# The chart's length is the figure beside it: a sign for each 2.5 dB, 20 at most.
chart() {
	"$vtac" compile --no-prune "$@" | awk '
		NF > 2 && $(NF - 1) == "dB" && $NF ~ /^=+$/ {
			n++
			want = $(NF - 2) > 50 ? 20 : int(($(NF - 2) + 2.55) / 2.5)
			if (length($NF) > want || length($NF) < want - 1)
				wrong = 1
		}
		END { exit wrong || n < 5 }'
}

# npy_with_nan FROM TO IMAGE: a copy whose image has a value that is no number
npy_with_nan() {
	python3 - "$@" <<-'EOF'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at = 10 + struct.unpack_from("<H", data, 8)[0] + int(sys.argv[3]) * 4 * 28 * 28
		struct.pack_into("<f", data, at, float("nan"))
		open(sys.argv[2], "wb").write(data)
	EOF
}

# A measure that is no number is null in JSON, for the model of two values.
null_for_nan() {
	printf "\x93NUMPY\1\0\x46\0%-69s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" \
		> "$dir/nan.npy"
	printf '\0\0\300\177\0\0\300\177' >> "$dir/nan.npy"
	"$vtac" compile -j --no-card --measure="$dir/nan.npy" "$small" |
		python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["sqnr"] is not None)'
}

# All answers are right, and none if the file has other classes.
right() {
	"$vtac" compile -j "$@" --classes="$models/mnist-test.labels" > "$dir/one" &&
		"$vtac" compile -j "$@" --classes=<(yes 3 | head -n 4) > "$dir/two" &&
		python3 - "$dir/one" "$dir/two" <<-'EOF'
			import json, sys
			one, two = [json.load(open(path)) for path in sys.argv[1:]]
			sys.exit(not one["right"] == one["right_float"] == one["images"] == 4 or
			         two["right"] != 0 or two["right_float"] != 0)
		EOF
}

echo "TAP version 13"
check "no verb: usage" ends 2 "name a verb"
check "no such verb" ends 2 "no such verb: fly" fly
check "no model: usage" ends 2 "name a model" compile
check "no such option" ends 2 "wrong option: --fly" compile --fly model
check "no such pass" ends 2 "no such pass: fly" compile --dump-after=fly model
check "no such file" ends 1 "nothing.onnx: No such file" compile nothing.onnx
check "a directory as a model" ends 1 "/tmp: Is a directory" compile /tmp
: > "$dir/model"
check "no such card" ends 3 "vta99" compile --card=vta99 "$dir/model"
# The model is none, which would be found out later.
check "an output in no directory" ends 1 "no/such/x: No such file" compile -o "$dir/no/such/x" "$dir/model"
check "C below a file" ends 1 "model/x: Not a directory" compile --emit=c -o "$dir/model/x" "$dir/model"
check "no such labels" ends 1 "no-labels: No such file" compile --labels="$dir/no-labels" "$dir/model"
check "nothing to emit" ends 2 "--emit wants c or onnx, not 'java'" compile --emit=java -o x model
check "C without a directory" ends 2 "name a directory" compile --emit=c model
check "a model without a file" ends 2 "name a file" compile --emit=onnx model
check "tvm: no graph" ends 2 "name a graph" tvm -o "$dir/c"
check "a mean that is no number" ends 2 "no number: nan" compile --mean=nan model
check "a scale that is no number" ends 2 "no number: 1e39" compile --scale=1,1e39,1 model
check "a wrong configuration" ends 1 "$0" compile --config="$0" "$dir/model"
check "a wrong shape" ends 2 "no shape: x" compile --shape=1,x model
check "not a model" ends 4 "not an ONNX model" compile "$0"
check "not a program" ends 1 "$0" report "$0"
check "a model that fails leaves no file" no_trace "$0"

if [ -e "$small" ]; then
	check "without a card: the same bytes" same_twice --no-card "$small"
	check "without a card: a report" text --no-card "$small"
	check "a shape of another rank" ends 4 ", the shape given has 3" compile --no-card --shape=1,2,3 "$small"
	for how in --scale=0.5 --fit=crop --order=gray; do
		check "no picture as this input: $how" ends 4 "1 channel with --order=gray" \
			compile --no-card "$small" "$how" -o "$dir/program"
	done
	printf 'cat\n\377\n' > "$dir/labels"
	check "labels that are no text" ends 4 "labels are not UTF-8" \
		compile --no-card "$small" --labels="$dir/labels" -o "$dir/program"
	# After it, the message would be of the node that there is not.
	check "labels are checked before the compilation" ends 4 "labels are not UTF-8" \
		compile --cpu=nowhere "$small" --labels="$dir/labels" -o "$dir/program"
	printf 'cat\0dog\n' > "$dir/labels"
	check "labels with a zero byte" ends 1 "labels: no text: it has a zero byte" \
		compile --no-card "$small" --labels="$dir/labels" -o "$dir/program"
	check "pictures are checked before the compilation" ends 4 "A picture cannot become" \
		compile --cpu=nowhere "$small" --mean=1 --order=gray -o "$dir/program"
	check "an unknown node" ends 4 "no node nowhere" compile --cpu=nowhere "$small"
	# Without nodes on the card, no image is needed.
	printf "\x93NUMPY\1\0\x46\0%-69s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }" \
		> "$dir/two.npy"
	printf 123456 >> "$dir/two.npy"
	check "images that are not needed are compared, too" ends 4 "two.npy: its 2 images are 3; input x takes" \
		compile --no-card --calibrate="$dir/two.npy" "$small"
	printf "\x93NUMPY\1\0\x46\0%-69s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3), }" \
		> "$dir/none.npy"
	check "a measure that is no number is null in JSON" null_for_nan
	check "images of which there are none" ends 1 "none.npy: the array has no values" \
		compile --no-card --calibrate="$dir/none.npy" "$small"
	# Two vectors of 3 values. After the shapes, the message would be of the node that there is not.
	vectors=$data/node/test_gemm_default_no_bias/model.onnx
	printf 'cat\ndog' > "$dir/labels"
	check "labels of fewer classes" ends 4 "labels have 2 lines, but output y has 3 classes" \
		compile --cpu=nowhere "$vectors" --labels="$dir/labels"
	printf 'cat\ndog\n\n' > "$dir/labels"
	check "as many labels as classes" ends 4 "no node nowhere" \
		compile --cpu=nowhere "$vectors" --labels="$dir/labels"
	: > "$dir/labels"
	check "no labels" ends 1 "labels: it is empty" compile "$vectors" --labels="$dir/labels"
	two=$data/node/test_add/model.onnx
	printf "\x93NUMPY\1\0\x46\0%-69s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4, 5), }" \
		> "$dir/a.npy"
	head -c 120 /dev/zero >> "$dir/a.npy"
	sed 's/(2, 3, 4, 5)/(2, 5, 4, 3)/' "$dir/a.npy" > "$dir/b.npy"
	check "two inputs have images each" same_twice --no-card --measure=x="$dir/a.npy" \
		--measure=y="$dir/a.npy" "$two"
	check "two inputs: one array is not for both" ends 2 "INPUT=PATH; the model has x, y" \
		compile --measure="$dir/a.npy" "$two"
	check "two inputs: one has no images" ends 2 "y: there are no images for this input" \
		compile --calibrate=x="$dir/a.npy" "$two"
	check "an input that the model has not" ends 2 "the model has x, y" \
		compile --calibrate=x="$dir/a.npy" --calibrate=z="$dir/a.npy" "$two"
	check "an array of another shape: both are named" ends 4 \
		"b.npy: its 2 images are 5x4x3; input y takes 3x4x5" \
		compile --no-card --measure=x="$dir/a.npy" --measure=y="$dir/b.npy" "$two"
else
	skip "without a card" "no $small (package libonnx-testdata)"
fi

models=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}/models
if "$here/models/fetch" mnist > "$dir/fetch" 2>&1; then
	set -- --calibrate="$models/mnist-calib.npy" --images=4 "$models/mnist.onnx"
	check "mnist: without images, by random inputs, with a warning" by_random "$models/mnist.onnx" \
		--measure="$models/mnist-test.npy"
	check "mnist: the same bytes" same_twice "$@"
	check "mnist: dumps after each pass" dumps "$@"
	check "mnist: the report as JSON" json "$@" --measure="$models/mnist-test.npy"
	check "mnist: the report as text" text "$@"
	check "mnist: the SQNR of each layer as a chart" chart "$@" \
		--measure="$models/mnist-test.npy"
	check "mnist: right answers are counted" right "$@" --measure="$models/mnist-test.npy"
	head -n 3 "$models/mnist-test.labels" > "$dir/few"
	check "mnist: too few classes" ends 1 "the classes of 3 images, of which there are 4" \
		compile "$@" --measure="$models/mnist-test.npy" --classes="$dir/few"
	yes 10 | head -n 4 > "$dir/few"
	check "mnist: a class that there is not" ends 4 "Image 0 is of class 10" \
		compile "$@" --measure="$models/mnist-test.npy" --classes="$dir/few"
	check "mnist: a directory of classes" ends 1 "Is a directory" \
		compile "$@" --measure="$models/mnist-test.npy" --classes="$dir"
	cp "$models/mnist.onnx" "$dir/kept.onnx"
	check "mnist: a program in place of the model" ends 1 "would replace what is read" \
		compile "$dir/kept.onnx" --no-card -o "$dir/kept.onnx"
	check "mnist: the model stays" cmp "$models/mnist.onnx" "$dir/kept.onnx"
	check "mnist: a report of a directory" ends 1 "Is a directory" report "$dir"
	check "mnist: classes of nothing" ends 2 "--classes needs --measure" \
		compile "$@" --classes="$dir/few"
	head -c 20000 "$models/mnist-calib.npy" > "$dir/cut.npy"
	check "mnist: images that are cut off" ends 1 "cut.npy: the file ends before the array's" \
		compile --calibrate="$dir/cut.npy" "$models/mnist.onnx"
	for image in 0 1 2 3; do
		npy_with_nan "$models/mnist-calib.npy" "$dir/nan.npy" $image
		check "mnist: the image of a value that is no number: $image" ends 4 "calibration image $image." \
			compile --calibrate="$dir/nan.npy" --images=4 "$models/mnist.onnx"
	done
	check "mnist: as C" as_c "$@"
	check "mnist: without -o says that nothing is written" ends 0 "no program was written" compile "$@"
	check "mnist: with -o says what is next" ends 0 "vtactl program run $dir/next" \
		compile "$@" -o "$dir/next"
	check "mnist: pictures to calibrate with are made" pictures
	check "mnist: pictures to calibrate with" same_twice --calibrate="$dir/pictures" \
		--order=gray --scale=0.0039 "$models/mnist.onnx"
	echo broken > "$dir/pictures/2.png"
	check "mnist: a broken picture is named" ends 4 "pictures/2.png" compile \
		--calibrate="$dir/pictures" --order=gray "$models/mnist.onnx"
else
	skip "mnist" "$(tail -n 1 "$dir/fetch" | sed 's/.*SKIP: //')"
fi
echo "1..$n"
exit "$failed"
