#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Cards as Slurm's resources, and one job of MPI on several of them: Debian's slurmctld, two
# slurmd and Open MPI in a VM with five emulated cards. guest.sh prints the results, as TAP.
#
#   tests/cluster/run.sh VTA.KO [PLUGIN...]
#
# PLUGIN is Slurm's for cgroups, cgroup/v1 and cgroup/v2 if none is given: one boot each.
# Slurm's packages are installed only in a root directory of the host's suite, which is kept in
# $VTA_CACHE/cluster. The daemons have the guest's loopback alone.
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

# slurm_make DIR: root.tar.gz, with what slurmctld, slurmd, their commands and mpirun need
# shellcheck disable=SC2317 # called by cached
slurm_make() {
	root_archive "$1/root.tar.gz" "$suite" --variant=essential "${no_docs[@]}" \
		--include=munge,slurm-client,slurmctld,slurmd,openmpi-bin
}

root_need
cached "cluster/$suite-mpi" "root of Debian $suite with Slurm and Open MPI" slurm_make
status=0
for plugin; do
	echo "# $plugin"
	# The VM ends with this shell in any case. Its time-out is longer than the guest's.
	setpriv --pdeathsig TERM -- tests/in-vm -t 2000 tests/cluster/guest.sh "$module" "$plugin" \
		"$cache/cluster/$suite-mpi/root.tar.gz" || status=1
done
exit "$status"
