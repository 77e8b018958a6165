# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Program images on a card and on any device, by vtactl: sourced by guest.sh and soft.sh, in
# the directory with files.sh's files. Programs are found by PATH.

# refused WHAT TEXT COMMAND...: it fails with $expect, and says why
expect=1
refused() {
	what=$1
	text=$2
	shift 2
	"$@" >out 2>err
	status=$?
	if [ $status -eq $expect ] && grep -q "$text" err; then
		result "$what" 0
	else
		sed "s/^/# $status: /" err
		result "$what" 1
	fi
}

# Messages about the image alone, or about the files of its tensors.
check_refused() {
	refused "an input without a file is named" "image: this input needs a file" \
		vtactl program run digits.vtap scores=got
	refused "a file of another size is refused" "has 100 bytes, input image takes 7840" \
		vtactl program run digits.vtap image=scores
	refused "a name that is no tensor is refused" "labels=x" \
		vtactl program run digits.vtap image=images labels=x
	head -c 100000 digits.vtap >cut.vtap
	refused "a file that is cut off is refused" "cut off" vtactl program info cut.vtap
	refused "a file that is no image is refused" "not a program image" \
		vtactl program run images image=images
	refused "an image of a later version is refused" \
		"version 3, this library knows 2" vtactl program info version.vtap
	refused "a damaged image is refused" "checksum is wrong" \
		vtactl program run checksum.vtap image=images
	refused "a program that reaches beyond its segments is refused" "reaches what it may not" \
		vtactl program run reach.vtap image=images
}

# check_digits OTHER: a program for the card alone; card OTHER has another core
check_digits() {
	vtactl program info digits.vtap >said
	grep -q '^program *digits' said && grep -q '^input *image int8 \[10\]' said
	result "info describes an image" $?
	vtactl program info --json digits.vtap | grep -q '"LOG_BLOCK": *4'
	result "info describes it in JSON, too" $?
	vtactl program run digits.vtap image=images scores=got && cmp got scores
	result "ten digits by an image, as the CPU scores them" $?
	rm got
	vtactl program run digits.vtap @0=images @1=got && cmp got scores
	result "tensors are named by their numbers" $?
	refused "a number that is no tensor's is refused" "@9=x" \
		vtactl program run digits.vtap image=images @9=x
	refused "a card with another core is refused" \
		"LOG_[A-Z_]* = [0-9]*, the card has [0-9]*" \
		vtactl program run --cards "$1" digits.vtap image=images
	check_refused
	refused "a program that faults is reported with its fault" "token" \
		vtactl program run deadlock.vtap image=images
	vtactl program run digits.vtap image=images scores=got && cmp got scores
	result "the card runs the next program after a fault" $?
}

# A network of which a part is the CPU's, with a picture as its input.
check_mixed() {
	vtactl program info mixed.vtap | grep -q '^host *[1-9][0-9]* steps by the CPU' &&
		vtactl program info --json mixed.vtap | grep -q '"type": *"float32"'
	result "info lists CPU steps" $?
	vtactl program run mixed.vtap --image picture.png scores=got --top 3 >top &&
		cmp got scores.raw
	result "a picture's scores are those of the core without a card, to the bit" $?
	cmp top top3
	result "the likeliest classes are named by the program's labels" $?
	vtactl program run mixed.vtap image=image.npy scores=got.npy &&
		tail -c 96 got.npy | cmp - scores.raw &&
		head -c 80 got.npy | grep -q "'shape': (1, 24)"
	result "arrays of numpy's in and out" $?
	mixed image.raw got && cmp got scores.raw
	result "the program as C, on the card: the same bits" $?
}

# figures JSON: of a set of images; the checksum is of all outputs
figures() { grep -E '^  "(images|failed|top1|topk|outputs_crc32)":' "$1"; }

check_pictures() {
	echo '["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]' >labels.json
	vtactl program run mixed.vtap --image picture.jpg --labels labels.json >top &&
		[ "$(wc -l <top)" -eq 5 ] && grep -qE '^ 1 +[0-9.]+  ([a-n]$|class)' top
	result "a JPEG file, with labels of a JSON file" $?
	vtactl program run mixed.vtap --images=set --labels=set.txt --json >got.json
	figures got.json >got && figures set.json >wanted && [ "$(wc -l <got)" -eq 5 ] &&
		cmp got wanted
	result "a set of pictures has the figures of soft, to the bit" $?
	head -c 60 picture.png >cut.png
	refused "a picture that is cut off is refused" "not a valid PNG file" \
		vtactl program run mixed.vtap --image cut.png
	refused "a file that is no picture is refused" "neither a PNG nor a JPEG file" \
		vtactl program run mixed.vtap --image mixed.vtap
	refused "an array of another shape is refused" "its shape is not the tensor's" \
		vtactl program run mixed.vtap image=other.npy
	refused "a program that takes no pictures says so" "does not say how a picture" \
		vtactl program run digits.vtap --image picture.png
}
