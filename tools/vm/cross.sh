# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Other architectures than the host's: names of their tools, and needs of their programs.

# cross_gnu ARCH: the compiler is this with -gcc behind it.
cross_gnu() {
	case $1 in
	arm64)	echo aarch64-linux-gnu ;;
	i386)	echo i686-linux-gnu ;;
	esac
}

# cross_runner ARCH: prints the runner of its programs in a root of the host's architecture
cross_runner() {
	case $1 in
	arm64)	echo qemu-aarch64 ;;
	*)	echo env ;;
	esac
}

# cross_ldd ROOT FILE: as ldd, without running anything: all libraries of a program, with the
# names below ROOT
cross_ldd() {
	local root=$1 file=$2 interpreter name path queue=("$2") known=' '
	interpreter=$(readelf -lW "$file" 2>/dev/null |
		sed -n 's/.*interpreter: \(.*\)\]$/\1/p')
	while [ ${#queue[@]} -gt 0 ]; do
		file=${queue[0]}
		queue=("${queue[@]:1}")
		for name in $(readelf -dW "$file" 2>/dev/null |
				sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
			case $known in *" $name "*) continue ;; esac
			known+="$name "
			[ "$name" != "${interpreter##*/}" ] || continue
			path=$(cross_library "$root" "$2" "$name")
			echo "$name => ${path:-not found}"
			[ -z "$path" ] || queue+=("$path")
		done
	done
	[ -z "$interpreter" ] || echo "$interpreter"
}

# cross_library ROOT PROGRAM NAME: the library of the program's architecture.
cross_library() {
	local path
	for path in "$1"/usr/lib/*-linux-gnu*/"$3" "$1"/lib/*-linux-gnu*/"$3"; do
		if [ -e "$path" ] && [ "$(cross_machine "$path")" = "$(cross_machine "$2")" ]; then
			echo "$path"
			return
		fi
	done
}

cross_machine() {
	readelf -hW "$1" | sed -n 's/^ *Machine: *//p'
}
