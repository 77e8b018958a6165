#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Slurm's scripts vta-gres, vta-check and vta-task without Slurm and without a card: the answers
# of vtactl and scontrol are made up here. Prints TAP.
# shellcheck disable=SC2317 # functions are called by check
set -u

tools=$(realpath "$(dirname "$0")/../../tools/slurm")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vta-slurm.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
show() { cat "$tmp/out" "$tmp/err" "$tmp/done"; }

# ---- vtactl, scontrol and logger of this test ----

# A card's state is $tmp/CARD: ok, lost (given up), bad (fails its test), stuck (given up, and no
# reset helps), broken (fails its test, as before); none: it is missing.
mkdir "$tmp/bin"
cat >"$tmp/bin/vtactl" <<'END'
#!/bin/bash
for card; do :; done
case $1 in
list)	cat "$VTA_TEST/list"; [ -s "$VTA_TEST/list" ] || exit 3 ;;
*)	[ -e "$VTA_TEST/$card" ] || exit 3 ;;&
status)	case $(<"$VTA_TEST/$card") in lost|stuck) exit 5 ;; esac ;;
test)	case $(<"$VTA_TEST/$card") in bad|broken)
		echo "memory      ok"; echo "insn        FAILS: illegal instruction"; exit 5 ;; esac ;;
reset)	echo "$*" >>"$VTA_TEST/done"
	case $(<"$VTA_TEST/$card") in stuck|broken) exit 5 ;; esac
	echo ok >"$VTA_TEST/$card" ;;
esac
END
cat >"$tmp/bin/scontrol" <<'END'
#!/bin/bash
case "$1 $2" in
"show hostnames")	eval "printf '%s\n' $(sed 's/\[\([0-9]*\)-\([0-9]*\)\]/{\1..\2}/' <<<"$3")" ;;
"show node")		echo "   State=$(<"$VTA_TEST/node") ThreadsPerCore=1" ;;
"update "*)		shift; echo "$*" >>"$VTA_TEST/done"; [ ! -e "$VTA_TEST/unreachable" ] ;;
esac
END
echo '#!/bin/sh' >"$tmp/bin/logger"
chmod +x "$tmp"/bin/*
export PATH=$tmp/bin:$PATH VTA_TEST=$tmp

# cards STATE...: of vta0, vta1 and so on
cards() {
	local i=0 state

	rm -f "$tmp"/vta? "$tmp/done" "$tmp/unreachable"
	: >"$tmp/done"
	echo IDLE >"$tmp/node"
	for state; do
		[ "$state" = none ] || echo "$state" >"$tmp/vta$i"
		i=$((i + 1))
	done
}
# as CONTEXT [CARD...]: vta-check, as slurmd runs it on the node n1; sets $status
as() {
	local context=$1

	shift
	status=0
	SLURM_SCRIPT_CONTEXT=$context SLURMD_NODENAME=n1 SLURM_CONF=$tmp/slurm.conf \
		"$tools/vta-check" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
}
did() { [ "$(<"$tmp/done")" = "${1-}" ]; }
is() { [ "$status" -eq "$1" ] && did "${2-}"; }
drained() { is "$1" "${3:+$3$'\n'}NodeName=n1 State=DRAIN Reason=$2"; }

echo "TAP version 13"
: >"$tmp/err"
: >"$tmp/done"

# ---- vta-gres ----

printf '%s\n' '[ { "index": 0, "node": "\/dev\/vta0", "pci": null }, {"index":12,"node":"\/dev\/vta12","pci":"0000:01:00.0"} ]' >"$tmp/list"
"$tools/vta-gres" >"$tmp/out"
check "vta-gres: a line for each card" [ "$(<"$tmp/out")" = "Name=gpu Type=vta File=/dev/vta0 Flags=no_gpu_env
Name=gpu Type=vta File=/dev/vta12 Flags=no_gpu_env" ]
"$tools/vta-gres" --name=vta n7 >"$tmp/out"
check "vta-gres: of a node, by another name" [ "$(<"$tmp/out")" = "NodeName=n7 Name=vta File=/dev/vta0
NodeName=n7 Name=vta File=/dev/vta12" ]
: >"$tmp/list"
"$tools/vta-gres" >"$tmp/out"
check "vta-gres: no card is no error" [ "$?$(<"$tmp/out")" = 0 ]
"$tools/vta-gres" a b 2>"$tmp/out"
check "vta-gres: too much" [ $? -eq 2 ]

# ---- vta-check ----

for line in 'Name=gpu Type=vta File=/dev/vta[0-1] Flags=no_gpu_env' 'nodename=n[1-3] NAME=vta file=/dev/vta[0-1] # all' \
		$'NodeName=n2 Name=vta File=/dev/vta7\nNodeName=n1 Name=vta File=/dev/vta[0-1]\n#Name=vta File=/dev/vta8\nName=gpu File=/dev/nvidia0'; do
	echo "$line" >"$tmp/gres.conf"
	cards ok none
	as epilog_slurmd
	check "vta-check: the cards of gres.conf: ${line%%$'\n'*}" drained 0 'vta1 is missing'
done
cards ok ok
as prolog_slurmd
check "vta-check: cards that work" is 0
for context in prolog_slurmd epilog_slurmd ''; do
	cards ok lost
	as "$context"
	check "vta-check: ${context:-by itself}: a card that was given up is reset" is 0 'reset --force vta1'
	cards bad ok
	as "$context"
	check "vta-check: ${context:-by itself}: a card that fails is reset, unless it is opened meanwhile" is 0 'reset vta0'
done
cards ok stuck
as epilog_slurmd
check "vta-check: Epilog: drains the node, with the reason" \
	drained 0 'vta1 was given up by the driver; a reset did not help' 'reset --force vta1'
cards broken ok
as prolog_slurmd
check "vta-check: Prolog: fails, too, which puts the job back into the queue" \
	drained 1 'vta0 insn: illegal instruction; a reset did not help' 'reset vta0'
cards none ok
touch "$tmp/unreachable"
as epilog_slurmd
check "vta-check: fails if it cannot drain the node, so that Slurm does" drained 1 'vta0 is missing'
cards none ok
echo 'IDLE+DRAIN' >"$tmp/node"
as epilog_slurmd
check "vta-check: a reason that is there stays" is 0
cards none ok
as epilog_slurmd vta1
check "vta-check: of the cards that are named alone" is 0

# A user's lock file in a directory for all users: locked for ever, and root must not open it.
lock=/run/lock/vta-check.test$$
if (set -C && : >"$lock") 2>/dev/null; then
	chmod 666 "$lock"
	[ "$(id -u)" -ne 0 ] || chown 65534 "$lock"
	exec 8<"$lock"
	flock 8
	cards ok ok
	status=0
	SLURM_SCRIPT_CONTEXT=epilog_slurmd SLURMD_NODENAME=test$$ \
		timeout 20 "$tools/vta-check" vta0 8<&- >"$tmp/out" 2>"$tmp/err" || status=$?
	check "vta-check: does not wait for a user" is 0
	exec 8<&-
	rm -f "$lock" "/run/vta-check.test$$.lock"
else
	n=$((n + 1))
	echo "ok $n vta-check: does not wait for a user # SKIP cannot make $lock"
fi

# ---- vta-task ----

# tasks VARIABLE=VALUE...: print the card of each of three tasks, in a /dev with vta0 to vta3,
# of which a user may open two
# shellcheck disable=SC2016 # the inner shell's
tasks() {
	local id

	for id in 0 1 2; do
		echo "task $id"
		env "$@" SLURM_LOCALID=$id unshare -m sh -c '
			mount -t tmpfs -o mode=755 none /dev
			for i in 0 1 2 3; do : >/dev/vta$i; chmod 0 /dev/vta$i; done
			chmod 666 /dev/vta1 /dev/vta3
			exec setpriv --reuid=65534 --regid=65534 --clear-groups sh' <"$tools/vta-task"
	done >"$tmp/out" 2>"$tmp/err"
}
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	n=$((n + 1))
	echo "ok $n vta-task # SKIP needs root and a mount namespace"
else
	tasks -u VTADEV_DEVICE
	check "vta-task: tasks have cards of those that they may open; the first has the default" \
		[ "$(<"$tmp/out")" = "task 0
task 1
export VTADEV_DEVICE=vta3
task 2
export VTADEV_DEVICE=vta1" ]
	tasks VTADEV_DEVICE=soft
	check "vta-task: what the user has chosen stays" [ "$(<"$tmp/out")" = "task 0
task 1
task 2" ]
fi
echo "1..$n"
exit $failed
