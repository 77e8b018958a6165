# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion of vtac for bash, as /usr/share/bash-completion/completions/vtac.

_vtac_cards() {
	local card

	for card in /sys/class/vta/vta[0-9]*; do
		[ -e "$card" ] && echo "${card##*/}"
	done
}

# The names of the passes are the compiler's own.
_vtac_passes() {
	"${COMP_WORDS[0]}" passes 2>/dev/null | sed 's/ .*//'
}

_vtac_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_vtac() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options=''

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		_vtac_words 'compile report passes tvm --help --version' "$cur"
		return
	fi
	# Bash takes --option=value apart at its equals sign.
	if [ "$cur" = '=' ]; then
		cur=''
	elif [ "$prev" = '=' ] && [ "$COMP_CWORD" -ge 3 ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $prev in
	--card)		_vtac_words "$(_vtac_cards)" "$cur"; return ;;
	--dump-after)	_vtac_words "$(_vtac_passes)" "$cur"; return ;;
	--emit)		_vtac_words 'c' "$cur"; return ;;
	--range)	_vtac_words 'auto mse max percentile' "$cur"; return ;;
	--residual)	_vtac_words 'auto sum output' "$cur"; return ;;
	--equalise)	_vtac_words 'auto no half full' "$cur"; return ;;
	--split)	_vtac_words 'auto no first early' "$cur"; return ;;
	--merge)	_vtac_words 'auto no sums' "$cur"; return ;;
	--order)	_vtac_words 'rgb bgr gray' "$cur"; return ;;
	--fit)		_vtac_words 'stretch top-left centre crop' "$cur"; return ;;
	--filter)	_vtac_words 'nearest linear cubic' "$cur"; return ;;
	--images | --shape | --cpu | --card-from | --card-to | --cpu-rate | --memory | --mean | \
		--scale | --background) return ;;
	esac
	case ${COMP_WORDS[1]} in
	compile)	options='--output --emit --config --card --calibrate --measure --classes --images
				--shape
				--labels --mean --scale --order --fit --filter --background --cpu
				--card-from --card-to --no-card --no-prune --cpu-rate --range --residual --equalise
				--split --merge --power-of-two --per-tensor --dump-after --dot --memory --json
				--quiet --help' ;;
	report)		options='--json --help' ;;
	passes)		options='--help' ;;
	tvm)		options='--output --name --help' ;;
	esac
	case ${COMP_WORDS[1]},$cur in
	*,-*)		_vtac_words "$options" "$cur" ;;
	passes,*)	;;
	*)		mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}

complete -F _vtac vtac
