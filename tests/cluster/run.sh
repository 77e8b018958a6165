#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Cards as Slurm's resources: Debian's slurmctld and two slurmd in a VM with five emulated
# cards. Prints TAP.
#
#   tests/cluster/run.sh VTA.KO [PLUGIN...]
#
# PLUGIN is Slurm's for cgroups, cgroup/v1 and cgroup/v2 if none is given: one boot each.
# Slurm's packages are installed in a root directory of the host's suite, which is kept in
# $VTA_CACHE/cluster, and nowhere else. The daemons have the guest's loopback alone.
set -euo pipefail

top=$(realpath "$(dirname "$0")/../..")
here=$top/tools/vm
# shellcheck source=tools/vm/common.sh
. "$here/common.sh"
# shellcheck source=tools/vm/root.sh
. "$here/root.sh"
cd "$top"

[ $# -ge 1 ] || {
	sed -n '7s/^# *//p' "$0" >&2
	exit 2
}
module=$1
shift
[ $# -gt 0 ] || set -- cgroup/v1 cgroup/v2
suite=$(host_suite)

# slurm_make DIR: root.tar.gz, with what slurmctld, slurmd and their commands need
# shellcheck disable=SC2317 # called by cached
slurm_make() {
	local dir=$1 options
	root_options
	namespaced mmdebstrap "${options[@]}" --variant=essential \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include=munge,slurm-client,slurmctld,slurmd \
		"$suite" "$dir/root.tar.gz" "$(host_mirror)" 2>"$dir/log" || {
		tail -n 30 "$dir/log" >&2
		return 1
	}
}

root_need
cached "cluster/$suite" "root of Debian $suite with Slurm" slurm_make
status=0
for plugin; do
	echo "# $plugin"
	# The VM ends with this shell, however that ends.
	setpriv --pdeathsig TERM -- tools/vm/vm run --kernel "${VM_KERNEL:-host}" --emu build/asan/vta-emu --timeout 400 \
		--cards 5 --mem 2G --file "$module":/lib/vta.ko \
		--file "$cache/cluster/$suite/root.tar.gz":/slurm.tar.gz \
		--file build/tools/vtactl:/bin/vtactl --file build/examples/hello/hello:/bin/hello \
		--file tools/slurm:/share/slurm --file tests/cluster/job.sh:/share/job.sh \
		-- tests/cluster/guest.sh "$plugin" || status=1
done
exit "$status"
