#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compile every piece of C in a document, each by itself, as its reader would:
# against what `make install` installs, with what pkg-config says. Prints TAP.
#
#   tests/docs/samples.sh DOCUMENT...
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/vta-samples.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# Installed elsewhere than where it will be: pkg-config puts that before paths.
make -s --no-print-directory install DESTDIR="$dir/root" > "$dir/install.log" 2>&1 || {
	cat "$dir/install.log"
	exit 1
}
lib=$(find "$dir/root" -name pkgconfig -printf '%h' -quit)
export PKG_CONFIG_SYSROOT_DIR=$dir/root PKG_CONFIG_PATH=$lib/pkgconfig
read -ra flags <<< "$(pkg-config --cflags vtadev vta_driver)"
read -ra libs <<< "$(pkg-config --libs vta_driver vtadev)"

n=0
failed=0
# result NAME LOG COMMAND...
result() {
	local name=$1 log=$2

	shift 2
	n=$((n + 1))
	if "$@" > "$log" 2>&1; then
		echo "ok $n $name"
	else
		failed=1
		echo "not ok $n $name"
		sed 's/^/# /' "$log"
	fi
}

echo "TAP version 13"
for document; do
	rm -f "$dir"/sample-*
	# Block number N becomes sample-N.c, with the lines of the document.
	awk -v dir="$dir" -v document="$document" '
		/^```c$/ { n++; out = dir "/sample-" n ".c"; print "#line " NR + 1 " \"" document "\"" > out; next }
		/^```$/ { out = "" }
		out { print > out }' "$document"
	result "$document has samples" "$dir/log" test -e "$dir/sample-1.c"
	samples=("$dir"/sample-*.c)
	for sample in "${samples[@]}"; do
		line=$(sed -n '1s/^#line \([0-9]*\).*/\1/p' "$sample")
		result "$document:$line compiles" "$dir/log" \
			cc -std=gnu11 -Wall -Wextra -Werror -O2 "${flags[@]}" \
			-Iexamples/deviceapi -c -o "${sample%.c}.o" "$sample"
	done
	# All of them together: what they call is there.
	cat > "$dir/main.c" <<-'EOF'
		int main(void)
		{
			return 0;
		}
	EOF
	result "$document: samples link" "$dir/log" \
		cc -o "$dir/program" "$dir/main.c" "${samples[@]/%.c/.o}" \
		examples/deviceapi/vta_device_api.c -D_GNU_SOURCE "${flags[@]}" \
		-Iexamples/deviceapi "${libs[@]}" -L"$lib" -lvtaops -lm -pthread \
		-Wl,-rpath-link,"$lib"
done
echo "1..$n"
exit "$failed"
