# shellcheck shell=bash disable=SC2154 # variables of the other parts
# SPDX-License-Identifier: GPL-2.0-only
#
# The guest's initramfs: busybox, the kernel modules it needs, the files asked
# for with all that they need to run, and init.

# Sets busybox_dir: the root that every guest of the kernel's architecture starts
# from, and its archive.
busybox_find() {
	case $kernel_arch in
	amd64)
		busybox_dir=$cache/busybox
		[ -e "$busybox_dir" ] && return
		need busybox-static
		cached busybox "guest's busybox" busybox_make "$(type -P busybox)" ;;
	*)
		busybox_dir=$cache/busybox-$kernel_arch
		[ -e "$busybox_dir" ] && return
		cached "busybox-$kernel_arch" "guest's busybox" busybox_make \
			"$kernel_root/bin/busybox" "${chroot_run[@]}" "$kernel_root" /usr \
			"$(cross_runner "$kernel_arch")" ;;
	esac
}

# busybox_make PROGRAM [RUNNER...] DIR
busybox_make() {
	local program=$1 dir=${*: -1} applet root
	set -- "${@:2:$#-2}"
	root=$dir/root
	guest_skeleton "$root"
	mkdir -p "$root"/{dev,proc,sys,tmp,run,etc}
	cp "$program" "$root/usr/bin/busybox"
	for applet in $("$@" "$([ $# -gt 0 ] && echo /bin/busybox || echo "$program")" --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/usr/bin/$applet"
	done
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	archive "$root" >"$dir/cpio"
}

# Merged /usr, so that programs and libraries find each other under any name.
guest_skeleton() {
	mkdir -p "$1"/{root,vm,usr/{bin,lib,lib64}}
	ln -s usr/bin "$1/bin"
	ln -s usr/bin "$1/sbin"
	ln -s bin "$1/usr/sbin"
	ln -s usr/lib "$1/lib"
	ln -s usr/lib64 "$1/lib64"
}

# Archives are concatenated; the kernel wants each to start at 4 bytes, and cpio
# pads to 512.
archive() {
	(cd "$1" && find . -mindepth 1 -print0 |
		cpio --null -o -H newc --quiet --owner 0:0)
}

# in_guest PATH: whether the guest has it already.
in_guest() {
	[ -e "$tree/$1" ] || [ -L "$tree/$1" ] ||
		[ -e "$busybox_dir/root/$1" ] || [ -L "$busybox_dir/root/$1" ]
}

# guest_add SRC DEST: put a file or directory into the guest, and what the
# programs in it need.
guest_add() {
	local src=$1 dest=$tree/${2#/} file
	[ -e "$src" ] || die "$src: no such file or directory"
	mkdir -p "${dest%/*}"
	if [ -d "$src" ]; then
		mkdir -p "$dest"
		cp -R --preserve=mode,links "$src/." "$dest/"
	else
		cp -L --preserve=mode "$src" "$dest"
	fi
	# ELF files that are run or loaded, not kernel modules and objects; from
	# where they are on the host, since that is where $ORIGIN leads.
	while IFS= read -r -d '' file; do
		guest_add_libraries "$file"
	done < <(find -L "$src" -type f ! -name '*.ko' ! -name '*.o' ! -name '*.a' \
		-exec grep -lZ -m1 -a $'^\x7fELF' {} +)
	while IFS= read -r -d '' file; do
		guest_add_interpreter "$file"
	done < <(find -L "$src" -type f -perm /111 -exec grep -lZ -m1 -a '^#!' {} +)
}

# Libraries go to the loader's default directory, whatever path led to them.
guest_add_libraries() {
	local name arrow path rest out dest
	# Fails for a static program.
	if [ -n "$sysroot" ]; then
		out=$(cross_ldd "$sysroot" "$1")
	else
		out=$(ldd "$1" 2>/dev/null) || return 0
	fi
	while read -r name arrow path rest; do
		if [ "$arrow" = '=>' ]; then
			[ "$path" != not ] || die "$1: library $name not found"
			dest=$tree/usr/lib/${name##*/}
		elif [ "${name#/}" != "$name" ]; then
			path=$sysroot$name
			dest=$tree/$name
		else
			continue
		fi
		if [ -e "$dest" ]; then
			cmp -s "$path" "$dest" ||
				die "$1: wants $path, but another $name is in the guest already"
			continue
		fi
		mkdir -p "${dest%/*}"
		cp -L --preserve=mode "$path" "$dest"
		# pthread_cancel loads this library, but nothing links to it.
		if [ "$name" = libc.so.6 ] && [ -e "${path%/*}/libgcc_s.so.1" ]; then
			cp -L "${path%/*}/libgcc_s.so.1" "$tree/usr/lib/"
		fi
	done <<<"$out"
}

guest_add_interpreter() {
	local line word path
	IFS= read -r line <"$1" || true
	[ "${line#\#!}" != "$line" ] || return 0
	# The host's programs want the host's libraries.
	[ -z "$sysroot" ] || return 0
	read -r word path _ <<<"${line#\#!}"
	if [ "${word##*/}" = env ]; then
		word=$path
		! in_guest "usr/bin/$word" || return 0
		path=$(type -P "$word") || return 0
		word=/usr/bin/$word
	else
		path=$word
	fi
	! in_guest "$word" || return 0
	[ -x "$path" ] || return 0
	guest_add "$path" "$word"
}

# guest_add_modules DIR NAME...: copy kernel modules with what they depend on,
# and list them for init in loading order. DIR has depmod's files; empty means
# that the kernel has everything built in.
guest_add_modules() {
	local dir=$1 file plain release
	shift
	[ -n "$dir" ] || return 0
	release=$(basename "$(realpath "$dir")")
	mkdir -p "$tree/usr/lib/modules/$release"
	awk -v names="$*" "$module_order" "$dir/modules.builtin" "$dir/modules.dep" \
		>"$run/order" || die "$(cat "$run/order")"
	while read -r file; do
		plain=${file##*/}
		plain=/lib/modules/$release/${plain%%.ko*}.ko
		case $file in
		*.ko)	cp "$dir/$file" "$tree$plain" ;;
		*.xz)	xz -dc "$dir/$file" >"$tree$plain" ;;
		*.zst)	zstd -dcq "$dir/$file" >"$tree$plain" ;;
		*.gz)	gzip -dc "$dir/$file" >"$tree$plain" ;;
		esac
		echo "$plain"
	done <"$run/order" >"$tree/vm/modules"
}

# shellcheck disable=SC2016 # awk's dollars
module_order='
	function base(path) {
		sub(/.*\//, "", path)
		sub(/\.ko.*/, "", path)
		gsub(/-/, "_", path)
		return path
	}
	function load(path,    i, n, list) {
		if (path in done)
			return
		done[path] = 1
		n = split(deps[path], list, " ")
		for (i = n; i > 0; i--)
			load(list[i])
		order[++count] = path
	}
	FNR == NR { builtin[base($1)] = 1; next }
	{
		path = $1
		sub(/:$/, "", path)
		$1 = ""
		deps[path] = $0
		file[base(path)] = path
	}
	END {
		n = split(names, wanted, " ")
		for (i = 1; i <= n; i++) {
			name = base(wanted[i])
			if (name in file) {
				load(file[name])
			} else if (!(name in builtin)) {
				print "the kernel has no module " wanted[i]
				exit 1
			}
		}
		for (i = 1; i <= count; i++)
			print order[i]
	}'
