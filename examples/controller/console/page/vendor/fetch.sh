#!/usr/bin/env bash
# Bring the page's chart library here: the files below of uPlot's npm package, of this version and with this
# integrity. They are committed, so that nothing is fetched where the console is built or runs; another
# version is a change of these two lines, and of CHECKSUMS.
set -euo pipefail
cd "$(dirname "$0")"
version=1.6.32
integrity=KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" "uplot@$version" >/dev/null
found=$(openssl dgst -sha512 -binary "$work/uplot-$version.tgz" | base64 -w 0)
[ "$found" = "$integrity" ] || { echo "uplot-$version.tgz is not what it was: sha512-$found" >&2; exit 1; }
tar -xzf "$work/uplot-$version.tgz" -C "$work"
mkdir -p uplot
cp "$work"/package/{LICENSE,package.json,dist/uPlot.esm.js,dist/uPlot.min.css} uplot/
sha256sum uplot/* >CHECKSUMS
