#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the commands of docs/models.md in their order and to the letter: with MNIST and PP-OCR, up to
# the classes that the card finds on pictures in the VM; with a detector and a classifier of texts up
# to what the page says they print. Prints TAP. Skipped if the models cannot be had.
#
#   tests/vtac/page.sh
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
page=$tree/docs/models.md
cache=${VTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vta-pcie}
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-page.XXXXXX")
# The commands make programs in the tree.
made=(mnist.vtap ppocr.vtap faces.vtap faces.png languages.vtap text.npy scores.npy)
trap 'rm -rf "$dir" "${made[@]/#/$tree/}"' EXIT

echo "TAP version 13"
if ! "$tree/tests/vtac/models/fetch" mnist ppocr faces languages > "$dir/fetch" 2>&1; then
	if grep -q 'SKIP: ' "$dir/fetch"; then
		echo "ok 1 the page's commands # SKIP $(sed -n 's/.*SKIP: //p' "$dir/fetch" | tail -n 1)"
		echo "1..1"
		exit 0
	fi
	sed 's/^/# /' "$dir/fetch"
	echo "Bail out! the models are not what they should be"
	exit 1
fi

# The reader's home: its cache is this one.
mkdir -p "$dir/home/.cache"
ln -s "$cache" "$dir/home/.cache/vta-pcie"
unset VTA_CACHE XDG_CACHE_HOME
export HOME=$dir/home

# The commands of all blocks: one script, since later ones take up what earlier ones set.
awk '/^```/ { inside = $0 == "```sh"; next } inside' "$page" > "$dir/script"
# shellcheck source=tests/tap.sh
. "$tree/tests/tap.sh"
tap_log=$dir/log

status=0
(cd "$tree" && timeout 1800 sh -eux "$dir/script") > "$dir/log" 2>&1 < /dev/null || status=$?
result "the page's commands succeed" $status

# Pictures are called NUMBER-LABEL.png: the likeliest classes are theirs.
mapfile -t labels < <(sed -n 's|.*--image /pictures/[0-9]*-\([0-9]*\)\.png.*|\1|p' "$dir/script")
mapfile -t classes < <(sed -n 's|^ *1  *[-0-9.]*  *class \([0-9]*\).*|\1|p' "$dir/log")
status=0
[ ${#labels[@]} -eq 2 ] && [ "${labels[*]}" = "${classes[*]-}" ] || status=1
result "the card finds the pictures' classes: ${labels[*]}" $status

# shown SECTION: the last block that it shows as output
shown() {
	awk -v section="## $1" '/^## /{ on = $0 == section } on && /^```/ { inside = $0 == "```text"; next }
		on && inside' "$page"
}
# likely_box: of the page's box and the program's, on two lines: the same class, scores within 0.05
# and corners within 8 pixels. Ranges, and so scores, depend on the machine and the compiler a little.
likely_box() {
	awk '{ gsub(",", " ") }
		function far(i, most) { return ($i > a[i] ? $i - a[i] : a[i] - $i) > most }
		NR == 1 { for (i = 1; i <= NF; i++) a[i] = $i; n = NF }
		NR == 2 { bad = NF != n || $NF != a[n] || far(2, 0.05) || far(3, 8) || far(4, 8) ||
			far(6, 8) || far(7, 8) }
		END { exit NR != 2 || bad }'
}
# sure_boxes: lines of boxes; a score near 0.3, the least that is printed, may be below it elsewhere
sure_boxes() {
	grep -E '^ *[0-9]+ +[0-9.]+ +[0-9,]+ +to .* face$' | awk '$2 >= 0.4'
}
status=0
mapfile -t boxes < <(shown Detectors | sure_boxes)
mapfile -t drawn < <(sure_boxes < "$dir/log")
[ ${#boxes[@]} -gt 0 ] && [ ${#drawn[@]} -eq ${#boxes[@]} ] &&
	printf '%s\n' "${boxes[0]}" "${drawn[0]}" | likely_box &&
	[ "$(head -c 4 "$tree/faces.png" | tail -c 3)" = PNG ] || status=1
result "the detector draws the page's boxes: ${#boxes[@]}" $status
# The weights depend on the machine a little: the language does not.
status=0
language=$(shown Texts | sed -n '1s/.* //p')
[ "$(grep -xE '[01]\.[0-9]{2} [A-Z][a-z]+' "$dir/log" | sed -n '1s/.* //p')" = "$language" ] || status=1
result "the text's language is found: $language" $status
echo "1..$n"
exit $failed
