#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh PLUGIN ROOT: in the guest, with five cards: a cluster of two nodes, n1 with four of them
# and n2 with the fifth, and MPI on them. PLUGIN is Slurm's for cgroups. Prints TAP.
#
# vm: --cards 5 --mem 2500M --file "$2":/slurm.tar.gz --file build/tools/vtactl:/bin/vtactl
# vm: --file build/examples/hello/hello:/bin/hello
# vm: --file build/examples/mpi/digits-mpi:/bin/digits-mpi
# vm: --file build/examples/digits/digits.vtap:/share/digits.vtap
# vm: --file examples/digits/testset.bin:/share/testset.bin
# vm: --file tools/slurm:/share/slurm --file tests/cluster/job.sh:/share/job.sh
# shellcheck disable=SC2317	# functions are called by check
set -u

plugin=$1
root=/slurm
# shellcheck source=tests/tap.sh
. /lib/tap.sh
tap_prefix="$plugin: "
show() {
	cat /tmp/out
	in_root squeue
	in_root sinfo -N -o '%N %t %E %G'
	tail -n 8 $root/var/log/slurm/*.log
} 2>&1
# soon COMMAND...: wait until it succeeds, half an hour at most
soon() {
	begin=$(date +%s)
	until "$@"; do
		[ $(($(date +%s) - begin)) -lt 1800 ] || return 1
		sleep 0.5
	done
}
in_root() { chroot $root /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" </dev/null; }
ann() { in_root runuser -u ann -- "$@"; }
# inject CARD WHAT...: to the emulator
inject() {
	card=$1
	shift
	exec 8<>"/dev/virtio-ports/vta-emu$card"
	echo "inject $*" >&8
	read -r _ <&8
	exec 8>&-
}

# ---- The cluster ----

# The root directory gets the guest's devices, processes, cards, vtactl and its libraries.
make_root() {
	mkdir $root
	mount -t tmpfs -o size=1500m tmpfs $root
	tar -xzf /slurm.tar.gz -C $root && rm /slurm.tar.gz
	for dir in dev proc sys; do mount --rbind /$dir $root/$dir; done
	mount -t tmpfs tmpfs $root/run
	mkdir -p $root/run/lock $root/etc/slurm $root/var/log/slurm $root/work
	cp /share/slurm/* /share/job.sh /bin/vtactl /bin/hello /bin/digits-mpi $root/usr/bin/
	mkdir $root/share && cp /share/digits.vtap /share/testset.bin $root/share/
	for library in /usr/lib/*.so*; do
		[ -e "$root/usr/lib/x86_64-linux-gnu/${library##*/}" ] || cp "$library" $root/usr/lib/x86_64-linux-gnu/
	done
	echo 'ann:x:1000:1000::/work:/bin/sh' >>$root/etc/passwd
	echo 'ann:x:1000:' >>$root/etc/group
	echo 'cards:x:4711:ann' >>$root/etc/group
	echo '127.0.0.1 localhost vm' >$root/etc/hosts
	chmod 1777 $root/work
}
make_cgroups() {
	umount /sys/fs/cgroup 2>/dev/null
	case $plugin in
	cgroup/v1)
		mount -t tmpfs tmpfs /sys/fs/cgroup
		for controller in cpuset devices freezer memory; do
			mkdir /sys/fs/cgroup/$controller
			mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller || return
		done ;;
	cgroup/v2)
		# Slurm needs this group, which systemd makes elsewhere.
		mount -t cgroup2 cgroup2 /sys/fs/cgroup &&
			echo '+cpu +cpuset +memory' >/sys/fs/cgroup/cgroup.subtree_control &&
			mkdir /sys/fs/cgroup/system.slice &&
			echo '+cpu +cpuset +memory' >/sys/fs/cgroup/system.slice/cgroup.subtree_control ;;
	esac
}
# Slurm's own time-outs are not tested, so they are long.
configure() {
	cat >$root/etc/slurm/slurm.conf <<-END
	ClusterName=test
	SlurmctldHost=vm(127.0.0.1)
	SlurmUser=root
	AuthType=auth/munge
	GresTypes=gpu
	ProctrackType=proctrack/cgroup
	TaskPlugin=task/cgroup
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	Prolog=/usr/bin/vta-check
	Epilog=/usr/bin/vta-check
	PrologFlags=Alloc
	TaskProlog=/usr/bin/vta-task
	SchedulerParameters=nohold_on_prolog_fail
	SlurmdParameters=config_overrides
	StateSaveLocation=/var/spool/slurmctld
	SlurmdSpoolDir=/var/spool/slurmd.%n
	SlurmdPidFile=/run/slurmd.%n.pid
	SlurmctldPidFile=/run/slurmctld.pid
	SlurmctldLogFile=/var/log/slurm/slurmctld.log
	SlurmdLogFile=/var/log/slurm/slurmd.%n.log
	MailProg=/bin/true
	MpiDefault=none
	ReturnToService=1
	MessageTimeout=100
	TCPTimeout=100
	SlurmdTimeout=0
	BatchStartTimeout=1800
	UnkillableStepTimeout=1800
	NodeName=n1 NodeHostname=vm NodeAddr=127.0.0.1 Port=17001 CPUs=8 Gres=gpu:vta:4
	NodeName=n2 NodeHostname=vm NodeAddr=127.0.0.1 Port=17002 CPUs=8 Gres=gpu:vta:1
	PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
	END
	cat >$root/etc/slurm/cgroup.conf <<-END
	CgroupPlugin=$plugin
	IgnoreSystemd=yes
	ConstrainDevices=yes
	END
	mkdir -p $root/var/spool/slurmctld
	# Two nodes in one machine: each line names the node that has the card.
	in_root vta-gres n1 | sed -n 1,4p >$root/etc/slurm/gres.conf
	in_root vta-gres n2 | sed -n 5p >>$root/etc/slurm/gres.conf
}
start() {
	hostname vm
	# The C library finds no name on a machine that has the loopback's addresses alone.
	ip address add 192.0.2.1/32 dev lo
	dd if=/dev/urandom of="$root/etc/munge/munge.key" bs=1024 count=1 2>/dev/null
	mkdir -p "$root/run/munge"
	in_root chown -R munge: /etc/munge /run/munge /var/lib/munge /var/log/munge
	in_root chmod 400 /etc/munge/munge.key
	in_root runuser -u munge -- munged &&
		in_root slurmctld && in_root slurmd -N n1 && in_root slurmd -N n2
}
node() { in_root scontrol show node "$1" >/tmp/out; }
# is NODE STATE [REASON]: as scontrol shows it
is() {
	node "$1" && grep -q "State=$2 " /tmp/out &&
		{ [ $# -lt 3 ] || grep -q "Reason=.*$3" /tmp/out; }
}
resume() { in_root scontrol update NodeName="$1" State=RESUME && soon is "$1" IDLE; }
# job NAME OPTIONS...: a job of ann's
job() {
	name=$1
	shift
	ann sbatch -Q -J "$name" -o "/work/$name.out" "$@" /usr/bin/job.sh "$name" >/tmp/out 2>&1
}
runs() { [ -e "$root/work/$1.runs" ]; }
release() { : >"$root/work/$1.go"; }
ended() { [ -z "$(in_root squeue -h -n "$1" -o %T)" ]; }
ends() { release "$1" && soon ended "$1"; }
# Only the cards of n1 count: to n1, n2's is an unknown file of another machine.
opens() { sed -n 's/^opens \(vta[0-3]\)/\1/p' "$root/work/$1.out" | sort; }
refused() { grep -c '^refused vta[0-3]: Operation not permitted$' "$root/work/$1.out"; }
pending() { in_root squeue -h -n "$1" -o '%T %r' >/tmp/out; grep -q "^PENDING.*$2" /tmp/out; }

echo "TAP version 13"
insmod /lib/vta.ko || exit 1
soon [ -e /dev/vta4 ]
if ! make_cgroups; then
	echo "1..0 # SKIP the kernel has no such cgroups"
	exit 0
fi
make_root || exit 1
chgrp 4711 /dev/vta?
chmod 660 /dev/vta?
: >/tmp/out
registered() {
	[ "$(in_root vta-gres)" = "$(for i in 0 1 2 3 4; do
		echo "Name=gpu Type=vta File=/dev/vta$i Flags=no_gpu_env"; done)" ]
}
check "vta-gres: a line for each card" registered
configure
check "daemons start" start
check "node of four cards" soon is n1 IDLE
check "node of one card" soon is n2 IDLE
[ "$failed" -eq 0 ] || exit 1

# ---- Jobs that share a node ----

job a -w n1 --gres=gpu:vta:2
check "first job of two cards runs" soon runs a
job b -w n1 --gres=gpu:vta:2
check "second job of two cards runs beside it" soon runs b
cat $root/work/a.out $root/work/b.out >/tmp/out
check "each has two cards" [ "$(opens a | wc -l)$(opens b | wc -l)" = 22 ]
check "different ones" [ "$( (opens a; opens b) | sort -u | wc -l)" -eq 4 ]
check "none can open another's" [ "$(refused a)$(refused b)" = 22 ]
named() { sed -n 's@^hello from /dev/\(vta.\), .*@\1@p' "$root/work/$1.out"; }
for name in a b; do
	check "program of job $name that names no card has one of the job's" \
		[ "$(named $name)" = "$(opens $name | head -n 1)" ]
done
job c -w n1 --gres=gpu:vta:2
check "third job waits" soon pending c Resources
ends a
check "third job runs when the first has ended" soon runs c
check "with its cards" [ "$(opens c)" = "$(opens a)" ]
ends b
ends c
job none -w n1
soon runs none
check "job that asks for no card can open none" [ "$(opens none)$(refused none)" = 4 ]
ends none

ann srun -Q -w n1 -n 2 --gres=gpu:vta:2 hello >/tmp/out 2>&1
check "vta-task: tasks of a step have different cards" [ "$(sed -n 's@^hello from /dev/\(vta.\),.*@\1@p' /tmp/out |
	sort -u | wc -l)" -eq 2 ]

# ---- MPI ----

# The guest has the loopback alone, which Open MPI excludes by default. Ranks poll while they
# wait, so they have to yield: there are fewer processors than ranks.
# digits OPTIONS...: a line that starts the ranks, by mpirun's options; $fails is digits-mpi's
fails=
digits() {
	echo "mpirun --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,vader,tcp --mca pml ob1 \
		--mca oob_tcp_if_include lo --mca btl_tcp_if_include lo $* \
		digits-mpi $fails /share/digits.vtap /share/testset.bin"
}
exact() { grep -q '^scores    exact: 2000 of 2000 ' /tmp/out; }
ranks() { sed -n 's@^rank [0-9]* */dev/\(vta[0-9]\)$@\1@p' /tmp/out | sort | paste -sd ' '; }
mpi() { ann sh -c "cd /work && $(digits "$@")" >/tmp/out 2>&1; }

mpi -n 5 --oversubscribe
check "mpi: five ranks on five cards: all scores are those of the CPU" exact
check "mpi: each rank has its card" [ "$(ranks)" = 'vta0 vta1 vta2 vta3 vta4' ]
fails='-f 2:100'
mpi -n 4 --oversubscribe
fails=
check "mpi: a card that fails: the other ranks take its images" exact
check "mpi: a card that fails: is reported" grep -q '^rank 2: the card failed: queue .* which is not mapped' /tmp/out
check "mpi: a card that fails: had done 100" grep -q '^rank 2  *100 images' /tmp/out
inject 2 fault=insn 1000000
mpi -n 4 --oversubscribe
inject 2 clear
check "mpi: a card that takes no program: the other ranks do all" exact

# batch OPTIONS...: submit a line of mpirun's as ann's job, and wait for its end
batch() {
	ann sbatch -Q -J mpi -o /work/mpi.out "$@" --wrap "$(digits)" >/tmp/out 2>&1
	soon ended mpi
	cat $root/work/mpi.out >>/tmp/out
}
batch -w n1 -n 3 --gres=gpu:vta:3
check "mpi: as a job: all scores are those of the CPU" exact
check "mpi: as a job: each rank has a card of the job's" [ "$(ranks | wc -w)" -eq 3 ]
batch -N 2 --ntasks-per-node=1 --gres=gpu:vta:1
check "mpi: as a job of two nodes: all scores are those of the CPU" exact
# The cards' names are not checked: to n2's Slurm, those of n1 are unknown files of another
# machine.
check "mpi: as a job of two nodes: a rank on each" [ "$(ranks | wc -w)" -eq 2 ]

# ---- Cards that fail ----

state() { cat "/sys/class/vta/vta$1/state"; }
give_up() {
	inject "$1" reset-ignored
	inject "$1" flr-stuck
	echo 1 >"/sys/class/vta/vta$1/reset" 2>/dev/null
	state "$1" >/tmp/out
	vtactl status "$1" >>/tmp/out
	[ $? -eq 5 ]
}

job d -w n2 --gres=gpu:vta:1
soon runs d
check "card is given up under a job" give_up 4
inject 4 clear
ends d
vtactl status 4 >/tmp/out
check "vta-check: as Epilog has reset the card" [ $? -eq 0 ]
check "node stays in service" soon is n2 IDLE
check "vta-gres: cards are registered as before" registered

job e -w n2 --gres=gpu:vta:1
soon runs e
give_up 4
ends e
check "vta-check: as Epilog drains the node of a card that no reset helps, with the reason" \
	soon is n2 'IDLE+DRAIN' 'vta4 was given up by the driver; a reset did not help'
check "other node stays in service" is n1 IDLE
job f -w n2 --gres=gpu:vta:1
check "drained node runs no job" soon pending f .
in_root scancel -n f
inject 4 clear
vtactl reset --force 4 >/dev/null 2>&1
check "node that was repaired is taken in again" resume n2
generation=$(cat /sys/class/vta/vta4/generation)

# One card fails in its test only.
inject 4 fault=insn 1
in_root env SLURMD_NODENAME=n2 SLURM_SCRIPT_CONTEXT=prolog_slurmd vta-check
check "vta-check: a card that works after a reset is no reason" [ $? -eq 0 ]
check "and was reset" [ "$(cat /sys/class/vta/vta4/generation)" -gt "$generation" ]
inject 4 fault=insn 1000
job g --gres=gpu:vta:1 -w n2
check "vta-check: as Prolog drains the node of a card that fails its test" \
	soon is n2 'IDLE+DRAIN' 'vta4 .*llegal instruction.*a reset did not help'
check "and the job has not begun" [ ! -e $root/work/g.runs ]
check "but is in the queue again" soon pending g .
inject 4 clear
resume n2
# Slurm delays a requeued job for two minutes.
in_root scontrol update JobName=g StartTime=now
check "and runs when the card works" soon runs g
in_root env SLURMD_NODENAME=n2 vta-check
check "vta-check: a card in use is not tried" [ $? -eq 0 ]
ends g
soon is n2 IDLE

in_root scontrol update NodeName=n2 State=DRAIN Reason=mine
inject 4 fault=insn 1000
in_root env SLURMD_NODENAME=n2 vta-check
check "vta-check: an administrator's reason stays" is n2 'IDLE+DRAIN' mine
inject 4 clear
resume n2

echo 1 >"$(readlink -f /sys/class/vta/vta4/device)/remove"
in_root env SLURMD_NODENAME=n2 vta-check
check "vta-check: by itself finds a card that is missing" is n2 'IDLE+DRAIN' 'vta4 is missing'
check "node of the other cards works" is n1 IDLE

echo "1..$n"
exit "$failed"
