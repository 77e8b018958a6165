#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the shells offer for vtac is what it takes: the verbs, options and passes that it
# names, no others. Prints TAP.
#
#   tests/vtac/completion.sh VTAC
set -u

vtac=$1
here=$(dirname "$(realpath "$0")")/../../compiler/cmd/completion
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
	_vtac
	printf '%s\n' "${COMPREPLY[@]}" | sorted
}

verbs=$("$vtac" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
# shellcheck source-path=SCRIPTDIR source=../../compiler/cmd/completion/vtac.bash
. "$here/vtac.bash"

echo "TAP version 13"
same "bash: verbs" "$(echo "$verbs --help --version" | sorted)" "$(offers vtac '')"
same "bash: passes" "$("$vtac" passes | sed 's/ .*//' | sorted)" \
	"$(offers "$vtac" compile --dump-after '')"
same "bash: passes behind =" "$("$vtac" passes | sed 's/ .*//' | sorted)" \
	"$(offers "$vtac" compile --dump-after = '')"
for verb in $verbs; do
	wanted=$("$vtac" "$verb" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' |
		sorted)
	[ -n "$wanted" ] || wanted='--help '
	same "bash: options of $verb" "$wanted" "$(offers vtac "$verb" --)"
	same "zsh: options of $verb" "$wanted" "$(sed -n "/^		$verb)/,/;;/p" "$here/_vtac" |
		grep -oE -- "[{,'\"*]--[a-z-]+" | grep -oE -- '--[a-z-]+' | sorted)"
done
same "zsh: verbs" "$(echo "$verbs" | sorted)" \
	"$(grep -oE "^		['\"][a-z]+:" "$here/_vtac" | tr -d "\"'	:" | sorted)"
n=$((n + 1))
if command -v zsh > /dev/null; then
	if zsh -n "$here/_vtac"; then
		echo "ok $n zsh: can be read"
	else
		failed=1
		echo "not ok $n zsh: can be read"
	fi
else
	echo "ok $n zsh: can be read # SKIP zsh is not installed"
fi
echo "1..$n"
exit "$failed"
