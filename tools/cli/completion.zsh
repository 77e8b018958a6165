#compdef vtactl vtac
# SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#
# completion.zsh - completion of vtactl and vtac for zsh, as _vtactl and _vtac
#
# The programs' help texts name verbs, options, the words of an option and operands (cli.h).

# _vta_cards: names of cards and devices, below a header; of vtactl, which has the list
_vta_cards() {
	${program/%vtac/vtactl} list --all 2> /dev/null | sed '1d; s/ .*//; s/:/\\:/g'
}

# _vta_action KIND: sets action for an argument that help texts call KIND
_vta_action() {
	case $1 in
	CARD|\[CARD\])	action="(${(j: :)${(f)"$(_vta_cards)"}})" ;;
	CARDS)		action="(all ${(j: :)${(f)"$(_vta_cards)"}})" ;;
	PASS)		action="($($program passes 2> /dev/null | cut -d ' ' -f 1 | tr '\n' ' '))" ;;
	*FILE*|PATH|DIRECTORY*|PICTURE|*.*) action=_files ;;
	[a-z-]*)	action="($1)" ;;
	*)		action=' ' ;;
	esac
}

# _vta_option: adds the option that $row declares, with its whole text, to $specs
_vta_option() {
	local letter name equals kind text action

	[[ $row =~ '^ (-., )?(--[a-z-]+)(\[?=)?([^ ]*) (.*[^ ])' ]] || return
	letter=${match[1]%, } name=$match[2] equals=$match[3] kind=$match[4] text=$match[5]
	if [[ $text =~ ': ([a-z-]+(, [a-z-]+)*( or [a-z-]+)?)( \(.*)?$' ]]; then
		_vta_action "${${match[1]//,/}/ or / }"
	else
		_vta_action $kind
	fi
	text="[${${text//:/\\:}//\]/\\]}]"
	case $equals in
	'')	specs+=("*$name$text" ${letter:+"*$letter$text"}) ;;
	=)	specs+=("*$name=$text:$kind:$action" ${letter:+"*$letter+$text:$kind:$action"}) ;;
	*)	action="::${kind%\]}:$action"
		specs+=("*$name=-$text$action" ${letter:+"*$letter-$text$action"}) ;;
	esac
}

_vta() {
	local program=$words[1] curcontext=$curcontext context state help row operands action
	local -a line verbs specs match
	local -A opt_args

	_arguments -C '(-)'{-h,--help}'[print help]' '(-)'{-V,--version}'[print the version]' \
		'1:verb:->verb' '*::argument:->argument'
	if [[ $state = verb ]]; then
		verbs=(${(f)"$($program --help 2> /dev/null |
			sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
		_describe verb verbs
		return
	fi
	help=$($program $words[1] --help 2> /dev/null)
	for row in ${(f)"$(awk '/^  (-.,|   ) --/ || /^$/ { print "" } { printf "%s ", $0 }' <<< $help |
		tr -s ' ')"}; do
		_vta_option
	done
	# A usage that takes two lines is one.
	operands=$(awk '/^$/ { exit }
		{ printf "%s%s", sub(/^        +/, " ") ? "" : line, $0; line = "\n" }' <<< $help |
		sed -nE 's/^(Usage:|  or: ) *[a-z]+ [a-z]+//; T
		s/ \[?-[^ ]*|\[OPTION\]\.*//g; s/^ *//p' | uniq)
	if [[ $operands = [a-z]* ]]; then
		specs+=("1:what:($(cut -d ' ' -f 1 <<< $operands))" '*:file:_files')
	elif [[ $operands = *COMMAND* ]]; then
		specs+=('*::command:_normal')
	elif [[ -n $operands ]]; then
		_vta_action $operands
		specs+=("*:operand:$action")
	fi
	_arguments $specs
}

_vta "$@"
