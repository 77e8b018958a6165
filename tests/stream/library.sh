# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# shellcheck disable=SC2317	# functions are called by check
#
# The example "stream" and the library's traces, on a card or any device: guest.sh and soft.sh
# source this after tap.sh, in a directory of their own. Programs are found by PATH.

# quietly COMMAND...: print its output only if it fails
quietly() {
	"$@" > quiet 2>&1 && return
	sed 's/^/# /' quiet
	return 1
}

# says WORDS: the last output has a line with WORDS
says() { grep -q -- "$1" out; }

check_streams() {
	stream -n 8 -l head -s 2 -a 2 > out 2>&1
	check "two slots are enough to be exact" says 'exact: 8 of 8 '
	stream -l head -n 1 > out 2>&1
	check "one batch has none to overlap with" says '^overlapped  0 of 0 '
	stream -n 8 -l head -w > out 2>&1
	check "with waiting, nothing is copied meanwhile" says '^overlapped  0 of 7 '
	for wrong in "-l none" "-n 0" "-s 1" "-s 4 -a 3" "-x 0.5" "more"; do
		# shellcheck disable=SC2086
		stream $wrong > out 2>&1
		check "stream $wrong: says how it is used" [ $? -eq 2 ]
	done
}

check_traces() {
	# In, run, out: 3 descriptors and 3 SIGNALs a batch; 2 WAITs, and 2 more from the
	# fourth on.
	VTADEV_TRACE=one.json stream -l add -n 20 > out 2>&1
	check "traced, it works as before" says 'exact: 20 of 20 '
	check "the library's trace" quietly check_trace one.json -q 3 -n $((20 * 8 + 17 * 2))

	VTADEV_TRACE=threads.json threads > out 2>&1
	check "traced, threads work" [ $? -eq 0 ]
	check "the trace of threads that share a queue" quietly check_trace threads.json -q 5 \
		-n "$(cat out)"

	VTADEV_TRACE=/no/such/file stream -n 4 > out 2> err
	check "a trace that cannot be written is a warning" says 'exact: 4 of 4 '
	check "said in one line" [ "$(wc -l < err)" -eq 1 ]
}
