#!/bin/sh
# Regenerate control_pb2.py and control_pb2.pyi beside this script from control.proto.
# Usage: generate.sh [output directory]. Needs grpcio-tools; PYTHON names the interpreter that has it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here}" && cd "${1:-$here}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# By a name of its own: a process knows each .proto file by that, whoever brought it.
name=helio/control/v1
"${PYTHON:-python3}" -m grpc_tools.protoc "-I$name=$here" \
  "--python_out=$work" "--pyi_out=$work" "$name/control.proto"
cp "$work/$name/control_pb2.py" "$work/$name/control_pb2.pyi" "$out"
