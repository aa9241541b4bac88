#!/usr/bin/env bash
# Get a Debian 12 ready: packages, bpffs, and a virtual environment in .venv.
# Usage: tests/setup.sh run|test|matrix   (test adds what only the tests and checks need, matrix every clang)
# Does only what is missing, so a second run is quick and needs no network. Asks nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

# command, file or (venv) Python module → the package that has it
needed_to_run=(
  clang-16=clang-16
  bpftool=bpftool
  ip=iproute2
  ethtool=ethtool
  ping=iputils-ping
  iperf3=iperf3
  dot=graphviz
  nsenter=util-linux
  /usr/include/bpf/bpf_helpers.h=libbpf-dev
  /usr/include/linux/bpf.h=linux-libc-dev
  libnghttp2.so.14=libnghttp2-14
  venv=python3-venv
  /etc/ssl/certs/ca-certificates.crt=ca-certificates
)
needed_to_test=(
  gcc=gcc
  git=git
  java=default-jre-headless
  mvn=maven
  tcpdump=tcpdump
  tshark=tshark
  chromium=chromium
  chromedriver=chromium-driver
  qemu-system-x86_64=qemu-system-x86
  busybox=busybox-static
  modprobe=kmod
  xz=xz-utils
  zstd=zstd
  wg=wireguard-tools
  etcd=etcd-server
  etcdctl=etcd-client
  kubectl=kubernetes-client
  openssl=openssl
  curl=curl
  mmdebstrap=mmdebstrap
  umoci=umoci
  runc=runc
  man=man-db
  /usr/include/stdio.h=libc6-dev
)
debian_root='systemd systemd-sysv dbus python3 libbpf1 libnghttp2-14 iproute2 adduser libstdc++6'
needed_for_matrix=(
  clang-13=clang-13
  clang-14=clang-14
  clang-15=clang-15
  clang-19=clang-19
)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

has() {
  case $1 in
    /*) [ -e "$1" ] ;;
    lib*.so.*) PATH=$PATH:/usr/sbin:/sbin ldconfig -p | grep -q "^\s*$1 " ;;
    venv) /usr/bin/python3 -c 'import ensurepip' 2>/dev/null ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
  esac
}

# What a command says matters only when it fails.
quietly() {
  local log
  log=$(mktemp)
  "$@" </dev/null >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; fail "failed: $*"; }
  rm -f "$log"
}

install_packages() {
  local missing=() entry
  for entry in "$@"; do
    has "${entry%%=*}" || missing+=("${entry#*=}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  has apt-get || fail "this machine lacks ${missing[*]} and has no apt-get; Debian 12 is what is supported"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  echo 'wireshark-common wireshark-common/install-setuid boolean false' | debconf-set-selections
  quietly apt-get update -q
  quietly apt-get install -q -y --no-install-recommends "${missing[@]}"
}

mount_bpffs() {
  [ "$(stat -f -c %T /sys/fs/bpf 2>/dev/null)" = bpf_fs ] && return
  say "mounting bpffs at /sys/fs/bpf"
  mount -t bpf bpf /sys/fs/bpf || fail "cannot mount bpffs: this kernel or container does not allow bpf"
}

# What the Debian package is installed in: a Debian 12 with systemd and no more than that needs.
make_debian_root() {
  local root=/var/cache/helio-tests/bookworm new
  [ "$(cat "$root/.packages" 2>/dev/null)" = "$debian_root" ] && return
  say "making a clean Debian in $root"
  mkdir -p "${root%/*}"
  new=$(mktemp -d "$root.XXXXXX")
  quietly mmdebstrap --variant=minbase --include="${debian_root// /,}" bookworm "$new"
  chmod 755 "$new"
  printf '%s\n' "$debian_root" >"$new/.packages"
  [ ! -e "$root" ] || mv -T "$root" "$new.old" # of other packages
  mv -T "$new" "$root" 2>/dev/null || rm -rf "$new" # another was quicker
  rm -rf "$new.old"
}

# Kubernetes' API server, for tests of helio-services: four minutes, once.
build_kubernetes() {
  [ ! -x "$(tests/support/kubernetes.sh where)/kube-apiserver" ] || return 0
  say "building Kubernetes' API server"
  quietly tests/support/kubernetes.sh kube-apiserver
}

# The system's own python3 first: a version manager's may lack venv, or vanish.
find_python() {
  local python
  for python in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
    "$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    echo "$python"
    return
  done
  fail "needs Python 3.11 or newer, which Debian 12 has as python3"
}

make_environment() {
  local wanted stamp=.venv/installed-from
  wanted=$(cat setup.cfg pyproject.toml | sha256sum; pwd)
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null && return
  say "installing helioc and what it depends on into .venv"
  .venv/bin/python -m pip --version >/dev/null 2>&1 || "$(find_python)" -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
  printf '%s\n' "$wanted" >"$stamp"
}

[ "$(id -u)" = 0 ] || fail "loading programs into the kernel needs root: run this as root, or with sudo"
case ${1:-} in
  run) install_packages "${needed_to_run[@]}" ;;
  test) install_packages "${needed_to_run[@]}" "${needed_to_test[@]}" ;;
  matrix) install_packages "${needed_to_run[@]}" "${needed_to_test[@]}" "${needed_for_matrix[@]}" ;;
  *) fail "usage: tests/setup.sh run|test|matrix" ;;
esac
mount_bpffs
make_environment
[ "$1" = run ] || { make_debian_root; build_kubernetes; }
