#!/bin/sh
# Regenerate etcd_pb2.py and etcd_pb2.pyi beside this script from etcd.proto.
# Usage: generate.sh [output directory]. Needs grpcio-tools; PYTHON names the interpreter that has it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-$here}" && cd "${1:-$here}" && pwd)
exec "${PYTHON:-python3}" -m grpc_tools.protoc "-I$here" "--python_out=$out" "--pyi_out=$out" etcd.proto
