#!/usr/bin/env bash
# Run one command under another Linux kernel, in a throw-away virtual machine.
#
#   kernel.sh fetch SERIES            download and unpack a Debian kernel: 5.10, 6.1, 6.12 …
#   kernel.sh modules SERIES          build test devices for it, from its own source: netdevsim, nfpsim
#   kernel.sh have [-M] SERIES        fetch it, and with -M build its test devices, unless it is there
#   kernel.sh list                    the kernels that are there
#   kernel.sh run [-k SERIES] [-t SECONDS] [-m MIB] [-c CPUS] [-w DIR]… [-M MODULE]… -- COMMAND…
#
# `run` boots the kernel under QEMU with this machine's root file system as the guest's (9p, read-only,
# under a tmpfs overlay: what COMMAND writes is thrown away, except below each -w DIR), loads the modules,
# mounts bpffs and debugfs, runs COMMAND as root in the current directory and exits with its status; its
# output comes out on stdout. 124: time-out; 125: the machine died or never reached COMMAND, and the end of
# the kernel's log is shown.
#
# Needs qemu-system-x86, busybox-static, kmod, xz-utils, zstd, python3, and apt for `fetch`.
# HELIO_KERNELS (~/.cache/helio/kernels) holds the kernels. Nothing is installed on the host, no module is
# loaded into it, and the guest has no network device.
set -euo pipefail

CACHE=${HELIO_KERNELS:-$HOME/.cache/helio/kernels}
# where this host's own apt gets Debian from, without the archive's name
MIRROR=${HELIO_MIRROR:-$(apt-get indextargets --format '$(SITE)' 2>/dev/null | sed -n 's,/debian/*$,,p' | head -n 1)}

die() { echo "kernel.sh: $*" >&2; exit 125; }

# ---------------------------------------------------------------- fetch

# suites that carry a kernel series, as "archive suite" pairs; deb12 builds of 6.12 are
# preferred over deb13 ones because their headers work with this host's gcc and libc.
suites_for() {
	case $1 in
	5.10) echo "debian bullseye
debian-security bullseye-security" ;;
	6.1)  echo "debian bookworm
debian-security bookworm-security" ;;
	6.12) echo "debian-security bookworm-security" ;;
	*)    echo "debian trixie-backports" ;;
	esac
}

apt_root() {	# a private apt: its own lists, no effect on the host's
	local d=$CACHE/apt/$1 archive suite
	mkdir -p "$d/lists/partial" "$d/archives/partial"
	suites_for "$1" | while read -r archive suite; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $MIRROR/$archive $suite main"
	done > "$d/sources.list"
	cat > "$d/apt.conf" <<-E
		Dir::State "$d";
		Dir::State::lists "$d/lists";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$d";
		Dir::Cache::archives "$d/archives";
		Dir::Etc::sourcelist "$d/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Acquire::Languages "none";
		APT::Sandbox::User "root";
	E
	export APT_CONFIG=$d/apt.conf
	apt-get -qq update
}

extract_vmlinux() {	# bzImage -> ELF, so that QEMU enters it by PVH and skips decompression
	python3 - "$1" "$2" <<-'E'
		import lzma, subprocess, sys
		data = open(sys.argv[1], 'rb').read()
		def xz(i):
		    return lzma.LZMADecompressor().decompress(data[i:])
		def zstd(i):
		    return subprocess.run(['zstd', '-dcq'], input=data[i:], stdout=subprocess.PIPE,
		                          stderr=subprocess.DEVNULL).stdout
		for magic, unpack in ((b'\xfd7zXZ\0', xz), (b'(\xb5/\xfd', zstd)):
		    i = data.find(magic)
		    while i >= 0:
		        try:
		            out = unpack(i)
		        except lzma.LZMAError:
		            out = b''
		        if out[:4] == b'\x7fELF':
		            open(sys.argv[2], 'wb').write(out)
		            sys.exit(0)
		        i = data.find(magic, i + 1)
		sys.exit('no vmlinux found in ' + sys.argv[1])
	E
}

make_initrd() {	# $1 = kernel directory, $2 = release: busybox + the modules that reach the 9p root
	local d; d=$(mktemp -d)
	mkdir -p "$d/m"
	cp "$(command -v busybox)" "$d/busybox"
	local want="virtio_pci 9pnet_virtio 9p overlay" mod seen=" " path
	: > "$d/m/order"
	for mod in $want; do
		# builtin modules print "builtin ..."; anything else prints insmod lines in order
		modprobe -d "$1" -S "$2" --show-depends "$mod" | while read -r verb path _; do
			[ "$verb" = insmod ] || continue
			local base; base=$(basename "$path"); base=${base%.xz}
			grep -qx "$base" "$d/m/order" && continue
			echo "$base" >> "$d/m/order"
			case $path in
			*.xz) xz -dc "$path" > "$d/m/$base" ;;
			*)    cp "$path" "$d/m/$base" ;;
			esac
		done
	done
	cat > "$d/init" <<-'E'
		#!/busybox sh
		b=/busybox
		$b mkdir -p /proc /sys /dev /h /o /rw /new
		$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
		for m in $($b cat /m/order); do $b insmod /m/$m || echo "insmod: $m failed"; done
		opt=trans=virtio,version=9p2000.L,msize=512000
		$b mount -t 9p -o ro,cache=loose,$opt root /h || $b poweroff -f
		$b mount -t 9p -o rw,$opt ctl /o || $b poweroff -f
		$b mount -t tmpfs tmpfs /rw; $b mkdir /rw/u /rw/w
		$b mount -t overlay -o lowerdir=/h,upperdir=/rw/u,workdir=/rw/w overlay /new || $b poweroff -f
		. /o/env
		for d in proc sys dev; do $b mkdir -p /new/$d; $b mount -o bind /$d /new/$d; done
		$b mkdir -p /new/run /new/lib/modules/$REL /new/dev/pts /new/dev/shm
		$b mount -t tmpfs tmpfs /new/run; $b mkdir -p /new/run/job /new/run/netns
		$b mount -o bind /o /new/run/job
		$b mount -t devpts devpts /new/dev/pts; $b mount -t tmpfs tmpfs /new/dev/shm
		$b mount -o bind /h$KDIR/lib/modules/$REL /new/lib/modules/$REL
		i=0
		for w in $SHARES; do
			$b mkdir -p /new$w; $b mount -t 9p -o rw,$opt w$i /new$w; i=$((i + 1))
		done
		$b mount -t bpf bpf /new/sys/fs/bpf; $b mount -t debugfs debugfs /new/sys/kernel/debug
		$b ip link set lo up
		$b stty -F /dev/ttyS1 raw -echo
		$b chroot /new /bin/bash /run/job/job < /dev/null > /dev/ttyS1 2>&1
		echo $? > /o/status
		$b sync; $b poweroff -f
	E
	chmod +x "$d/init"
	(cd "$d" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) > "$1/initrd.gz"
	rm -rf "$d"
}

fetch() {
	local series=$1 rel pkgs d
	apt_root "$series"
	rel=$(apt-cache search --names-only "^linux-image-${series//./\\.}\\.[.0-9+~a-z]*(-[0-9]+)?-amd64$" |
	      awk '{print $1}' | grep -v -e -dbg -e cloud -e rt -e unsigned | sort -V | tail -1)
	rel=${rel#linux-image-}
	[ -n "$rel" ] || die "no Debian kernel $series found"
	d=$CACHE/$series
	mkdir -p "$d/deb"
	pkgs="linux-image-$rel"
	for p in linux-base-$rel linux-binary-$rel linux-modules-$rel; do	# newer packages are split
		if [ -n "$(apt-cache madison "$p")" ]; then pkgs="$pkgs $p"; fi
	done
	(cd "$d/deb" && apt-get -qq download $pkgs)
	rm -rf "$d/root"; mkdir -p "$d/root"
	for p in "$d"/deb/*.deb; do dpkg -x "$p" "$d/root"; done
	rm -rf "$d/deb"
	mkdir -p "$d/lib"
	rm -rf "$d/lib/modules"
	if [ -d "$d/root/usr/lib/modules" ]; then mv "$d/root/usr/lib/modules" "$d/lib/"; else mv "$d/root/lib/modules" "$d/lib/"; fi
	depmod -b "$d" "$rel"
	local image=$d/root/boot/vmlinuz-$rel
	[ -e "$image" ] || image=$d/lib/modules/$rel/vmlinuz
	extract_vmlinux "$image" "$d/vmlinux"
	make_initrd "$d" "$rel"
	cp "$d/root/boot/config-$rel" "$d/config" 2>/dev/null || cp "$d/lib/modules/$rel/config" "$d/config"
	echo "$rel" > "$d/release"
	echo "$series: $rel"
}

# ---------------------------------------------------------------- modules

modules() {	# netdevsim, which Debian leaves out, and nfpsim (modules/nfpsim.c), in SERIES/modules
	local series=$1 d=$CACHE/$1 rel kb work here
	[ -e "$d/release" ] || fetch "$series"
	d=$(realpath "$d"); rel=$(cat "$d/release"); here=$(realpath "$(dirname "$0")")
	apt_root "$series"
	kb=$(apt-cache depends "linux-headers-$rel" | awk '/Depends: linux-kbuild/{print $2}')
	[ -n "$kb" ] || die "headers of $rel are not to be had any more: remove $d and fetch $series anew"
	work=$(mktemp -d); trap "rm -rf '$work'" EXIT
	(cd "$work" && apt-get -qq download "linux-headers-$rel" "linux-headers-${rel%-amd64}-common" "$kb" "linux-source-$series")
	for p in "$work"/*.deb; do dpkg -x "$p" "$work/root"; rm "$p"; done
	local headers=$work/root/usr/src/linux-headers-$rel	# they name themselves by absolute path
	sed -i "s,/usr/src,$work/root/usr/src," "$headers/Makefile" "$headers/.kernelvariables"
	mkdir "$work/build"
	tar xJf "$work/root/usr/src/linux-source-$series.tar.xz" -C "$work/build" --wildcards --strip-components=1 \
		'*/drivers/net/netdevsim' '*/drivers/net/ethernet/netronome/nfp'
	local drivers=$work/build/drivers/net make="nice make -s -C $headers CC=${CC:-gcc} CONFIG_DEBUG_INFO_BTF_MODULES="
	$make "M=$drivers/netdevsim" CONFIG_NETDEVSIM=m modules
	cp -r "$drivers/ethernet/netronome/nfp" "$drivers/nfpsim"
	cp "$here/modules/nfpsim.c" "$drivers/nfpsim/shim.c"
	cat > "$drivers/nfpsim/Makefile" <<-'M'
		obj-m := nfpsim.o
		nfpsim-y := shim.o nfp_asm.o bpf/jit.o bpf/verifier.o bpf/offload.o
		ccflags-y := -I$(src)
	M
	$make "M=$drivers/nfpsim" modules
	mkdir -p "$d/modules"
	for m in netdevsim nfpsim; do
		strip --strip-debug "$drivers/$m/$m.ko" -o "$d/modules/$m.ko.new"
		mv "$d/modules/$m.ko.new" "$d/modules/$m.ko"
	done
	echo "$series: $(ls "$d/modules" | tr '\n' ' ')"
}

have() {	# who comes while another is at it waits, and finds it there
	local devices=
	[ "${1:-}" != -M ] || { devices=1; shift; }
	[ $# -eq 1 ] || die "have which series?"
	mkdir -p "$CACHE"
	exec 9> "$CACHE/$1.lock"; flock 9
	[ -e "$CACHE/$1/release" ] || fetch "$1"
	[ -z "$devices" ] || [ -e "$CACHE/$1/modules/nfpsim.ko" ] || modules "$1"
}

# ---------------------------------------------------------------- run

# what a kernel need not do, or try out, before it begins
QUICK="nokaslr no_timer_check tsc=reliable cryptomgr.notests apparmor=0 audit=0 nowatchdog"

run() {
	# One processor: with two, QEMU must emulate every access to memory as others may see it, and all takes
	# half as long again.
	local series=6.1 limit=300 mem=2048 cpus=1 shares=() mods=()
	while [ $# -gt 0 ]; do
		case $1 in
		-k) series=$2; shift 2 ;;
		-t) limit=$2; shift 2 ;;
		-m) mem=$2; shift 2 ;;
		-c) cpus=$2; shift 2 ;;
		-w) mkdir -p "$2"; shares+=("$(realpath "$2")"); shift 2 ;;
		-M) mods+=("$2"); shift 2 ;;
		--) shift; break ;;
		-*) die "unknown option $1" ;;
		*) break ;;
		esac
	done
	[ $# -gt 0 ] || die "no command"
	local d=$CACHE/$series rel
	[ -e "$d/release" ] || die "kernel $series is not in $CACHE: run '$0 fetch $series'"
	d=$(realpath "$d"); rel=$(cat "$d/release")

	local o start=$EPOCHREALTIME rc=0
	o=$(mktemp -d); trap "rm -rf '$o'" EXIT
	printf 'REL=%q\nKDIR=%q\nSHARES=%q\n' "$rel" "$d" "${shares[*]-}" > "$o/env"
	{
		echo "export PATH=$PATH:/usr/sbin:/sbin HOME=/root HELIO_VM=$rel"
		echo "cut -d' ' -f1 /proc/uptime > /run/job/up"
		for m in "${mods[@]+"${mods[@]}"}"; do
			local file=${m%% *} par=
			[ "$file" = "$m" ] || par=${m#* }
			case $file in
			*/*) printf 'insmod %q %s || exit 125\n' "$(realpath "$file")" "$par" ;;
			netdevsim|nfpsim) printf 'insmod %q %s || exit 125\n' "$d/modules/$file.ko" "$par" ;;
			*)   printf 'modprobe %q %s || exit 125\n' "$file" "$par" ;;
			esac
		done
		printf 'cd %q\n' "$PWD"
		printf '%q ' "$@"; echo
	} > "$o/job"

	local args=(-M q35 -accel tcg,thread=multi -cpu Nehalem,+rdrand -m "$mem" -smp "$cpus" -nodefaults -display none -no-reboot
		-kernel "$d/vmlinux" -initrd "$d/initrd.gz"
		-append "console=ttyS0 loglevel=6 panic=-1 rdinit=/init mitigations=off no_hash_pointers $QUICK ${HELIO_APPEND:-}"
		-chardev "file,id=log,path=$o/klog" -serial chardev:log
		-chardev stdio,id=out,signal=off -serial chardev:out
		-virtfs "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"
		-virtfs "local,path=$o,mount_tag=ctl,security_model=none")
	local i=0 s
	for s in "${shares[@]+"${shares[@]}"}"; do
		args+=(-virtfs "local,path=$s,mount_tag=w$i,security_model=none"); i=$((i + 1))
	done
	timeout "$limit" qemu-system-x86_64 "${args[@]}" < /dev/null 2> "$o/qemu" || rc=$?
	[ -z "${HELIO_KLOG:-}" ] || cp "$o/klog" "$HELIO_KLOG"
	if [ -s "$o/status" ]; then
		rc=$(cat "$o/status")
	elif [ "$rc" != 124 ]; then
		rc=125
		tail -n 25 "$o/klog" "$o/qemu" >&2 || :
	fi
	awk -v s="$start" -v e="$EPOCHREALTIME" -v k="$rel" -v u="$(cat "$o/up" 2>/dev/null)" -v rc="$rc" 'BEGIN {
		printf "kernel.sh: %s: status %s, command reached at %s s guest uptime, %.1f s in all\n", k, rc, u, e - s }' >&2
	return "$rc"
}

case ${1:-} in
fetch) shift; [ $# -eq 1 ] || die "fetch which series?"; fetch "$1" ;;
modules) shift; [ $# -eq 1 ] || die "modules for which series?"; modules "$1" ;;
have)  shift; have "$@" ;;
list)  for d in "$CACHE"/*/release; do echo "$(basename "$(dirname "$d")") $(cat "$d")"; done ;;
run)   shift; run "$@" ;;
*)     sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
