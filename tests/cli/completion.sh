#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# completion.sh - the shells offer the verbs, options and words that a program's help names
#
#   tests/cli/completion.sh PROGRAM
#
# PROGRAM is vtactl or vtac. Prints TAP.
# shellcheck disable=SC2317 # functions that check calls
set -u

program=$(realpath "$1")
name=${1##*/}
top=$(dirname "$(realpath "$0")")/../..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
tap_log=$tmp/log

sorted() { tr ' ' '\n' | sed '/^$/d' | sort -u | tr '\n' ' '; }

# same WANTED GOT
same() {
	printf 'wanted: %s\ngot:    %s\n' "$1" "$2"
	[ "$1" = "$2" ]
}

# offers WORD...: what bash offers for the last of these words
offers() {
	COMP_WORDS=("$program" "$@")
	COMP_CWORD=$#
	_vta
	printf '%s\n' "${COMPREPLY[@]}" | sorted
}

# zsh_offers WORD...: what zsh is given to offer for the last of these words
zsh_offers() {
	zsh -f -c '
		_arguments() {
			if [[ $1 != -C ]]; then
				print -rl -- "$@"
			elif (( CURRENT == 2 )); then
				state=verb
			else
				shift words
			fi
		}
		_describe() { print -rl -- ${${(P)2}%%:*} }
		script=$1 words=("${@:2}") CURRENT=$(($# - 1))
		set --
		source "$script"' zsh "$top/tools/cli/completion.zsh" "$program" "$@"
}
# zsh_action VERB NAME: what zsh completes an option's value with, or an "operand"
zsh_action() {
	local what="--\(${*: -1}\)=[-]*\[.*\]:[^:]*"

	[ "${*: -1}" != operand ] || what=:operand
	zsh_offers "$1" -- | sed -n "s/^\*$what://p" | sed 's/\\//g'
}
zsh_options() { zsh_offers "$1" -- | grep -oE '^\*--[a-z-]+' | tr -d '*' | sorted; }

verbs=$("$program" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
# shellcheck source-path=SCRIPTDIR source=../../tools/cli/completion.bash
. "$top/tools/cli/completion.bash"
cd "$tmp" || exit 1
touch one.tar

echo "TAP version 13"
check "bash: the completion function is registered" \
	same "complete -F _vta $name" "$(complete -p "$name")"
check "bash: verbs" same "$(echo "$verbs --help --version" | sorted)" "$(offers '')"
case $name in
vtactl)
	check "bash: verbs that begin so" same "test top trace " "$(offers t)"
	check "bash: program's words" same "bench info profile run " "$(offers program '')"
	check "bash: files to write to" same "one.tar " "$(offers dump -o one)"
	;;
vtac)
	passes=$("$program" passes | sed 's/ .*//' | sorted)
	check "bash: passes" same "$passes" "$(offers compile --dump-after '')"
	check "bash: passes behind =" same "$passes" "$(offers compile --dump-after = '')"
	check "bash: words of an option" same "auto max mse percentile " \
		"$(offers compile --range '')"
	;;
esac
for verb in $verbs; do
	options=$("$program" "$verb" --help | grep -oE '^ +(-., )?--[a-z-]+' |
		grep -oE -- '--[a-z-]+' | sorted)
	check "bash: options of $verb" same "$options" "$(offers "$verb" --)"
	if command -v zsh >/dev/null; then
		check "zsh: options of $verb" same "$options" "$(zsh_options "$verb")"
	else
		skip "zsh: options of $verb" "zsh is not installed"
	fi
done
# vtactl is where the program is; devices need no card.
export VTADEV_PLUGINS=$top/build/lib
cards=$("${program/%vtac/vtactl}" list --all | sed '1d; s/ .*//' | sorted)
[[ $cards = *soft* ]] || skip "cards" "there is no device soft in build/lib"
if command -v zsh >/dev/null; then
	case $name in
	vtactl)
		check "zsh: cards and devices" same "(${cards% })" \
			"$(zsh_action status operand)"
		check "bash: cards and devices" same "$cards" "$(offers status '')"
		check "zsh: words of an option" same "(auto always never)" \
			"$(zsh_action status color)"
		check "zsh: files" same _files "$(zsh_action dump output)"
		;;
	vtac)
		check "bash: cards of an option" same "$cards" "$(offers compile --card '')"
		check "zsh: cards of an option" same "(${cards% })" \
			"$(zsh_action compile card)"
		check "zsh: words of an option" same "(auto mse max percentile)" \
			"$(zsh_action compile range)"
		check "zsh: passes" same "$passes" \
			"$(zsh_action compile dump-after | tr -d '()' | sorted)"
		;;
	esac
	check "zsh: verbs" same "$(echo "$verbs" | sorted)" "$(zsh_offers '' | sorted)"
	check "zsh: can be read" zsh -n "$top/tools/cli/completion.zsh"
else
	skip "zsh: verbs" "zsh is not installed"
	skip "zsh: can be read" "zsh is not installed"
fi
echo "1..$n"
exit "$failed"
