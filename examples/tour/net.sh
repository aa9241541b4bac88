#!/usr/bin/env bash
# Two network namespaces on one wire: `net.sh up` makes tour-a (10.0.0.1) and tour-b (10.0.0.2),
# `net.sh down` removes them. TOUR names them otherwise.
set -eu
tour=${TOUR:-tour}
case ${1:-} in
  up)
    ip netns add "$tour-a"
    ip netns add "$tour-b"
    ip link add eth0 netns "$tour-a" type veth peer name eth0 netns "$tour-b"
    # XDP on a veth sees checksums only if they are filled in, and redirects only to a peer with GRO.
    for end in a b; do ip netns exec "$tour-$end" ethtool -K eth0 tx off gro on >/dev/null; done
    ip -n "$tour-a" address add 10.0.0.1/24 dev eth0
    ip -n "$tour-b" address add 10.0.0.2/24 dev eth0
    for end in a b; do ip -n "$tour-$end" link set lo up; ip -n "$tour-$end" link set eth0 up; done
    ;;
  down)
    for end in a b; do ip netns delete "$tour-$end"; done
    ;;
  *)
    echo "usage: net.sh up|down" >&2
    exit 2
    ;;
esac
