#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Run the kernel's tests on emulated cards in virtual machines. Prints the KTAP
# of each boot; the status is 1 if any test failed or any kernel complained.
#
#   tests/selftests/run.sh VTA.KO [BOOT...]
#
# BOOT is main, variants or iommu; all of them if none is given. VM_KERNEL says
# which kernel, as tools/vm/vm --kernel. TESTS="vta_wait ..." runs only these in
# the main boot.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
vm=$top/tools/vm/vm
built=$top/build/tests/selftests

if [ $# -lt 1 ] || [ ! -f "$1" ]; then
	sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
module=$(realpath "$1")
shift
boots=("$@")
[ $# -gt 0 ] || boots=(main)

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-selftests.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# A directory as "make install" of the kernel's selftests would leave it.
source=$("$vm" source)/tools/testing/selftests
mkdir -p "$dir/kselftest/kselftest" "$dir/kselftest/vta"
cp "$source/run_kselftest.sh" "$dir/kselftest/"
cp "$source/kselftest/runner.sh" "$dir/kselftest/kselftest/"
find "$built" -maxdepth 1 -type f -perm /111 -exec cp -t "$dir/kselftest/vta/" {} +
cp "$here"/*.sh "$here/settings" "$dir/kselftest/vta/"

# The runner asks for options that busybox's timeout does not have.
files=(--file "$dir/kselftest:/root/kselftest" --file "$module:/lib/vta.ko"
	--file "$(type -P timeout):/usr/bin/timeout"
	--file "$top/build/tools/vtactl:/usr/bin/vtactl")

status=0
# boot NAME VM-OPTIONS... -- TEST...
boot() {
	local options=()
	echo "# boot: $1"
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	"$vm" run --kernel "${VM_KERNEL:-host}" --emu "$top/build/asan/vta-emu" "${files[@]}" \
		"${options[@]}" -- /root/kselftest/vta/guest.sh "$@" || status=1
}

boot_main() {
	local tests=(vta_basic)
	[ -z "${TESTS-}" ] || read -ra tests <<<"$TESTS"
	boot main --cards 2 --emu-arg-0 --serial=1 --emu-arg-1 --serial=2 \
		--emu-arg-1 --queues=4 --emu-arg-1 --contexts=3 --timeout 200 -- "${tests[@]}"
}

for name in "${boots[@]}"; do
	case $name in
	main)	boot_main ;;
	*)	echo "run.sh: no boot $name" >&2; exit 2 ;;
	esac
done
exit "$status"
