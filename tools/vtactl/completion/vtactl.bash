# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Completion of vtactl for bash, as /usr/share/bash-completion/completions/vtactl.

_vtactl_cards() {
	local card

	for card in /sys/class/vta/vta[0-9]*; do
		[ -e "$card" ] && echo "${card##*/}"
	done
}

# What a verb's words may be: options, then names of cards or of files.
_vtactl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options='' cards=''

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'list status top monitor test bench dump cdi export
			reset trace program --help --version' -- "$cur")
		return
	fi
	case $prev in
	-o | --output)	mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	-c | --card)	mapfile -t COMPREPLY < <(compgen -W "$(_vtactl_cards)" -- "$cur"); return ;;
	-C | --cards)	mapfile -t COMPREPLY < <(compgen -W "all $(_vtactl_cards)" -- "$cur"); return ;;
	-n | --count | -d | --delay | --duration | -t | --timeout | -k | --kind) return ;;
	esac
	case ${COMP_WORDS[1]} in
	list)		options='--all --json --help' ;;
	status)		options='--json --watch --count --help' cards=1 ;;
	top)		options='--batch --delay --count --help' cards=1 ;;
	monitor)	options='--json --count --timeout --help' cards=1 ;;
	test)		options='--full --json --help' cards=1 ;;
	bench)		options='--json --help' cards=1 ;;
	dump)		options='--output --help' cards=1 ;;
	cdi)		options='--kind --mount --output --help' ;;
	export)		options='--anonymous --output --help' ;;
	reset)		options='--force --help' cards=1 ;;
	trace)		options='--output --duration --help' ;;
	program)	options='--card --cards --image --json --labels --top --help' ;;
	esac
	case ${COMP_WORDS[1]},$COMP_CWORD,$cur in
	*,-*)		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur") ;;
	program,2,*)	mapfile -t COMPREPLY < <(compgen -W 'info run' -- "$cur") ;;
	program,*)	mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	trace,*)	mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	*)		[ -z "$cards" ] ||
			mapfile -t COMPREPLY < <(compgen -W "$(_vtactl_cards)" -- "$cur") ;;
	esac
}

complete -F _vtactl vtactl
