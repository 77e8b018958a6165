#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the shells offer for vtactl is what it takes: the verbs and options that its
# help names, no others. Prints TAP.
#
#   tests/vtactl/completion.sh VTACTL
set -u

vtactl=$1
here=$(dirname "$(realpath "$0")")/../../tools/vtactl/completion
n=0
failed=0
# same NAME WANTED GOT
same() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n $1"
	else
		failed=1
		printf 'not ok %d %s\n# wanted: %s\n# got:    %s\n' "$n" "$1" "$2" "$3"
	fi
}
sorted() { tr ' ' '\n' | sed '/^$/d' | sort -u | tr '\n' ' '; }

# what bash offers after these words
offers() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_vtactl
	printf '%s\n' "${COMPREPLY[@]}" | sorted
}

verbs=$("$vtactl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
# shellcheck source-path=SCRIPTDIR source=../../tools/vtactl/completion/vtactl.bash
. "$here/vtactl.bash"

echo "TAP version 13"
same "bash: the completion function is registered" "complete -F _vtactl vtactl" "$(complete -p vtactl)"
same "bash: verbs" "$(echo "$verbs --help --version" | sorted)" "$(offers vtactl '')"
same "bash: verbs that begin so" "test top trace " "$(offers vtactl t)"
same "bash: program's words" "info run " "$(offers vtactl program '')"
cd "$(mktemp -d)" || exit 1
touch one.tar
same "bash: files to write to" "one.tar " "$(offers vtactl dump -o one)"
for verb in $verbs; do
	wanted=$("$vtactl" "$verb" --help | grep -oE '^  -., --[a-z]+' | grep -oE -- '--[a-z]+' | sorted)
	same "bash: options of $verb" "$wanted" "$(offers vtactl "$verb" --)"
	# From its line to the next verb's.
	same "zsh: options of $verb" "$wanted" "$(sed -n "/^	$verb)/,/;;/p" "$here/_vtactl" |
		grep -oE -- ',--[a-z]+' | tr -d , | sorted)"
done
same "zsh: verbs" "$(echo "$verbs" | sorted)" \
	"$(grep -oE "^		'[a-z]+:" "$here/_vtactl" | tr -d "'	:" | sorted)"
n=$((n + 1))
if command -v zsh > /dev/null; then
	if zsh -n "$here/_vtactl"; then
		echo "ok $n zsh: can be read"
	else
		failed=1
		echo "not ok $n zsh: can be read"
	fi
else
	echo "ok $n zsh: can be read # SKIP zsh is not installed"
fi
rm -rf "$PWD"
echo "1..$n"
exit "$failed"
