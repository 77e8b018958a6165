# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#
# completion.bash - completion of vtactl and vtac for bash
#
# The programs' help texts name verbs, options, the words of an option and operands (cli.h).

# _vta_cards: names of cards and devices, below a header; of vtactl, which has the list
_vta_cards() {
	"${program/%vtac/vtactl}" list --all 2> /dev/null | sed '1d; s/ .*//'
}

# _vta_offer KIND: completes the current word as an argument that help texts call KIND
_vta_offer() {
	local words='' action=()

	case $1 in
	CARD | \[CARD\] | CARDS)
		words=$(_vta_cards)
		[ "$1" != CARDS ] || words+=' all'
		;;
	PASS)		words=$("$program" passes 2> /dev/null | cut -d ' ' -f 1) ;;
	*COMMAND*)	action=(-c) ;;
	*FILE* | PATH | DIRECTORY* | PICTURE | *.*) action=(-f) ;;
	[a-z-]*)	words=$1 ;;
	esac
	mapfile -t COMPREPLY < <(compgen "${action[@]}" ${words:+-W "$words"} -- "$cur")
}

_vta() {
	local program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]}
	local prev=${COMP_WORDS[COMP_CWORD - 1]} help options option operands

	COMPREPLY=()
	help=$("$program" "$verb" --help 2> /dev/null)
	# Each option with its whole text is one line.
	options=$(awk '/^  (-.,|   ) --/ || /^$/ { print "" } { printf "%s ", $0 }' <<< "$help" |
		sed -n 's/^  \(-., \|    \)--/\1--/p')
	# Bash splits --option=value at its equals sign.
	if [ "$cur" = '=' ]; then
		cur=''
	elif [ "$prev" = '=' ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	option=$(grep -E -- "^(${prev}, --[a-z-]*|.{4}${prev})=" <<< "$options" 2> /dev/null)
	# A usage that takes two lines is one.
	operands=$(awk '/^$/ { exit }
		{ printf "%s%s", sub(/^        +/, " ") ? "" : line, $0; line = "\n" }' <<< "$help" |
		sed -nE 's/^(Usage:|  or: ) *[a-z]+ [a-z]+//; T
		s/ \[?-[^ ]*|\[OPTION\]\.*//g; s/^ *//p' | uniq)
	if [ "$COMP_CWORD" -eq 1 ]; then
		_vta_offer "$("$program" --help 2> /dev/null |
			sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version"
	elif [[ $option =~ :\ ([a-z-]+(,\ [a-z-]+)*(\ or\ [a-z-]+)?)\ *(\(.*)?$ ]]; then
		option=${BASH_REMATCH[1]//,/}
		_vta_offer "${option/ or / }"
	elif [ "$option" ]; then
		option=${option#*=}
		_vta_offer "${option%% *}"
	elif [[ $cur = -* ]]; then
		_vta_offer "$(grep -o -- '^.\{4\}--[a-z-]*' <<< "$options" | cut -c 5-)"
	elif [[ $operands = [a-z]* ]] && [ "$COMP_CWORD" -eq 2 ]; then
		_vta_offer "$(cut -d ' ' -f 1 <<< "$operands")"
	else
		_vta_offer "$operands"
	fi
}

complete -F _vta vtactl vtac
