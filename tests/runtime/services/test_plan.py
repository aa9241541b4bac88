"""What a service comes to on a node: one case a field of Kubernetes' objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from helioc.lang.contract.request.request import item_text
from helioc.runtime.services.cache import Cache
from helioc.runtime.services.changes import steps
from helioc.runtime.services.objects import Key, Unreadable, node_of, service_of, slice_of
from helioc.runtime.services.plan import Note, Part, plan_node, plan_service
from helioc.runtime.services.wanted import Rule, item
from services_world import NODE, SETTINGS, Book, endpoint, endpoints, node, port, service

_OTHER = "node2"
_FOUR = [endpoint("10.244.1.2"), endpoint("10.244.1.3"), endpoint("10.244.2.2", _OTHER),
         endpoint("10.244.2.3", _OTHER)]  # fmt: skip


def planned(
    found: Any, slices: Sequence[Any] = (endpoints(*_FOUR),), at: Any = None
) -> Part:  # fmt: skip
    made = service_of(found)
    assert made is not None
    read = [each for each in map(slice_of, slices) if each is not None]
    return plan_service(made, read, node_of(at or node()), SETTINGS)


def texts(part: Part, kind: str) -> list[str]:
    return [item_text(item(rule)) for rule in part.rules.values() if rule.kind == kind]


def members(part: Part, name: str = "default/web:http", kind: str = "POOL") -> list[str]:
    """The addresses of a pool, without their ports; of none: []."""
    rule = part.rules.get((kind, name))
    return [each.partition(":")[0] for each in rule.refers] if rule else []


def pools(part: Part) -> dict[str, str]:
    """The pool of each address."""
    return {rule.name: ", ".join(rule.refers) for rule in part.rules.values()
            if rule.kind.startswith("SERVICE")}  # fmt: skip


def backend(part: Part, name: str, kind: str = "BACKEND") -> dict[str, str]:
    return dict(part.rules[kind, name].values)


def test_a_cluster_ip() -> None:
    part = planned(service())
    assert texts(part, "SERVICE") == [
        'SERVICE "10.96.0.10:80/TCP" [(address, 10.96.0.10), (port, 80), (protocol, TCP), '
        '(affinity, 0), (slice, 0), (unserved, DROP), POOL "default/web:http"]'
    ]
    assert members(part) == ["10.244.1.2", "10.244.1.3", "10.244.2.2", "10.244.2.3"]
    assert texts(part, "BACKEND")[0] == (
        'BACKEND "10.244.1.2:8080" [(address, 10.244.1.2), (port, 8080), (place, HERE), '
        "(phase, READY), (interface, POD-A)]"
    )
    assert backend(part, "10.244.2.2:8080")["place"] == "ELSEWHERE"
    assert backend(part, "10.244.2.2:8080")["interface"] == "UPLINK"


def test_the_node_gives_its_address_to_connections() -> None:
    made = plan_node(node_of(node()), SETTINGS)
    assert [item_text(item(rule)) for rule in made.values()] == [
        "NODE node1 [(address, 192.0.2.11), (first_port, 61000), (ports, 4096)]",
        "NODE6 node1 [(address6, 2001:db8::11), (first_port, 61000), (ports, 4096)]",
    ]


def test_a_node_port() -> None:
    part = planned(service(type="NodePort", ports=[port(nodePort=30080)]))
    assert pools(part) == {"10.96.0.10:80/TCP": "default/web:http",
                           "192.0.2.11:30080/TCP": "default/web:http"}  # fmt: skip


def test_external_traffic_policy_local() -> None:
    part = planned(service(ports=[port(nodePort=30080)], externalTrafficPolicy="Local"))
    assert pools(part) == {
        "10.96.0.10:80/TCP": "default/web:http",
        "192.0.2.11:30080/TCP/outside": "default/web:http@local",
        "192.0.2.11:30080/TCP/inside": "default/web:http",
    }
    assert members(part, "default/web:http@local") == ["10.244.1.2", "10.244.1.3"]


def test_a_policy_local_without_endpoints_drops() -> None:
    part = planned(service(ports=[port(nodePort=30080)], externalTrafficPolicy="Local"),
                   [endpoints(endpoint("10.244.2.2", _OTHER))])  # fmt: skip
    assert pools(part)["192.0.2.11:30080/TCP/outside"] == ""
    assert pools(part)["192.0.2.11:30080/TCP/inside"] == "default/web:http"
    assert dict(part.rules["SERVICE", "192.0.2.11:30080/TCP/outside"].values)["unserved"] == "DROP"


def test_a_service_without_endpoints_rejects() -> None:
    part = planned(service(), [])
    assert pools(part) == {"10.96.0.10:80/TCP": ""}
    assert dict(part.rules["SERVICE", "10.96.0.10:80/TCP"].values)["unserved"] == "REJECT"


def test_internal_traffic_policy_local() -> None:
    part = planned(service(ports=[port(nodePort=30080)], internalTrafficPolicy="Local"))
    assert pools(part) == {"10.96.0.10:80/TCP": "default/web:http@local",
                           "192.0.2.11:30080/TCP": "default/web:http"}  # fmt: skip


def test_addresses_of_load_balancers_and_external_ips() -> None:
    balanced = [{"ip": "203.0.113.1", "ipMode": "VIP"}, {"ip": "203.0.113.2", "ipMode": "Proxy"},
                {"hostname": "lb.example"}]  # fmt: skip
    part = planned(service(balanced=balanced, externalIPs=["198.51.100.9"], type="LoadBalancer"))
    assert list(pools(part)) == ["10.96.0.10:80/TCP", "198.51.100.9:80/TCP", "203.0.113.1:80/TCP"]


def test_source_ranges_leave_the_load_balancer_out() -> None:
    part = planned(service(balanced=[{"ip": "203.0.113.1"}], ports=[port(nodePort=30080)],
                           loadBalancerSourceRanges=["198.51.100.0/24"]))  # fmt: skip
    assert list(pools(part)) == ["10.96.0.10:80/TCP", "192.0.2.11:30080/TCP"]
    assert [note.code for note in part.notes] == ["H0888"]


@pytest.mark.parametrize("said, seconds", [
    ({}, "0"), ({"sessionAffinity": "ClientIP"}, "10800"),
    ({"sessionAffinity": "ClientIP",
      "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 7}}}, "7"),
])  # fmt: skip
def test_session_affinity(said: dict[str, Any], seconds: str) -> None:
    rule = planned(service(**said)).rules["SERVICE", "10.96.0.10:80/TCP"]
    assert dict(rule.values)["affinity"] == seconds


def test_a_service_belongs_to_a_slice() -> None:
    rule = planned(service(labels={"helio/slice": "7"})).rules["SERVICE", "10.96.0.10:80/TCP"]
    assert dict(rule.values)["slice"] == "7"
    with pytest.raises(Unreadable, match="no number of a SLICE"):
        service_of(service(labels={"helio/slice": "gold"}))


def test_two_families() -> None:
    slices = [endpoints(*_FOUR), endpoints(endpoint("FD00:1::2"), name="six", family="IPv6")]
    part = planned(service(addresses=["10.96.0.10", "fd00:96::a"], ports=[port(nodePort=30080)]),
                   slices)  # fmt: skip
    assert list(pools(part)) == ["10.96.0.10:80/TCP", "192.0.2.11:30080/TCP",
                                 "[fd00:96::a]:80/TCP", "[2001:db8::11]:30080/TCP"]  # fmt: skip
    assert part.rules["POOL6", "default/web:http"].refers == ("[fd00:1::2]:8080",)
    assert backend(part, "[fd00:1::2]:8080", "BACKEND6")["interface"] == "POD-A"


# ---- endpoints ------------------------------------------------------------------------------


def test_what_ends_takes_no_new_connections() -> None:
    ends = endpoint("10.244.1.2", ready=False, serving=True, terminating=True)
    part = planned(service(), [endpoints(ends, endpoint("10.244.1.3"))])
    assert members(part) == ["10.244.1.3"]
    assert backend(part, "10.244.1.2:8080")["phase"] == "ENDING"


def test_where_all_end_those_that_serve_take_connections() -> None:
    slices = [endpoints(
        endpoint("10.244.1.2", ready=False, serving=True, terminating=True),
        endpoint("10.244.1.3", ready=False, serving=False, terminating=True),
        endpoint("10.244.2.2", _OTHER, ready=False),
    )]  # fmt: skip
    assert members(planned(service(), slices)) == ["10.244.1.2"]


def test_conditions_that_are_not_said_are_ready() -> None:
    part = planned(
        service(), [endpoints(endpoint("10.244.1.2"), endpoint("10.244.1.3", ready=False))]
    )
    assert members(part) == ["10.244.1.2"]


def test_hints_for_zones() -> None:
    slices = [
        endpoints(endpoint("10.244.1.2", zones=["b"]), endpoint("10.244.2.2", _OTHER, zones=["a"]))
    ]
    assert members(planned(service(), slices, node(zone="a"))) == ["10.244.2.2"]
    assert members(planned(service(), slices, node(zone="c"))) == ["10.244.1.2", "10.244.2.2"]
    slices = [endpoints(endpoint("10.244.1.2", zones=["b"]), endpoint("10.244.2.2", _OTHER))]
    assert members(planned(service(), slices, node(zone="b"))) == ["10.244.1.2", "10.244.2.2"]


def test_hints_for_nodes_go_before_those_for_zones() -> None:
    slices = [endpoints(endpoint("10.244.1.2", zones=["b"], nodes=[NODE]),
                        endpoint("10.244.2.2", _OTHER, zones=["a"], nodes=[_OTHER]))]  # fmt: skip
    assert members(planned(service(), slices, node(zone="a"))) == ["10.244.1.2"]


def test_an_endpoint_without_a_port_here_is_looked_for_again() -> None:
    part = planned(service(), [endpoints(endpoint("10.244.1.9"), endpoint("10.244.1.2"))])
    assert members(part) == ["10.244.1.2"]
    assert part.astray


def test_the_network_of_the_host_is_reached_by_the_network() -> None:
    part = planned(service(), [endpoints(endpoint("192.0.2.11"))])
    assert backend(part, "192.0.2.11:8080")["interface"] == "UPLINK"
    assert backend(part, "192.0.2.11:8080")["place"] == "HERE"


def test_another_pod_with_the_address_is_another_endpoint() -> None:
    names = [next(iter(planned(service(), [endpoints(endpoint("10.244.1.2", pod=pod))])
                       .rules["POOL", "default/web:http"].refers))
             for pod in ("0a1b2c3d-0000", "4e5f6a7b-0000")]  # fmt: skip
    assert names == ["10.244.1.2:8080~0a1b2c3d", "10.244.1.2:8080~4e5f6a7b"]


def test_more_endpoints_than_a_spread_takes() -> None:
    many = [endpoint(f"10.9.{n // 250}.{n % 250 + 1}", _OTHER) for n in range(300)]
    part = planned(service(), [endpoints(*many)])
    assert len(members(part)) == 255
    assert [note.code for note in part.notes] == ["H0889"]
    fewer = planned(service(), [endpoints(*many[:-1])])
    assert len(set(members(part)) - set(members(fewer))) <= 1, "one that goes moves no others"


def test_ports_of_slices_go_by_name_and_protocol() -> None:
    found = service(ports=[port(53, "dns", "UDP"), port(53, "dns-tcp"), port(9, "sctp", "SCTP")])
    ports = [{"name": "dns", "port": 5353, "protocol": "UDP"}, {"name": "dns-tcp", "port": 5354}]
    part = planned(found, [endpoints(endpoint("10.244.1.2"), ports=ports)])
    assert part.rules["POOL", "default/web:dns"].refers == ("10.244.1.2:5353",)
    assert part.rules["POOL", "default/web:dns-tcp"].refers == ("10.244.1.2:5354",)
    assert [note.code for note in part.notes] == ["H0887"]


# ---- objects --------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [
    service(addresses=["None"]), service(type="ExternalName", addresses=[""]),
    service(labels={"service.kubernetes.io/service-proxy-name": "other"}),
])  # fmt: skip
def test_services_that_are_not_ours(found: Any) -> None:
    assert service_of(found) is None


@pytest.mark.parametrize("found", [
    service(addresses=["10.96.0.300"]), {"metadata": {"name": "x"}},
    service(ports=[{"name": "http"}]), service(labels={"helio/slice": "-1"}),
])  # fmt: skip
def test_services_that_cannot_be_read(found: Any) -> None:
    with pytest.raises(Unreadable):
        service_of(found)


def test_long_names_fit() -> None:
    part = planned(service("w" * 63), [endpoints(*_FOUR, of="w" * 63)])
    (pool,) = (rule for rule in part.rules.values() if rule.kind == "POOL")
    assert len(pool.name) == 63
    other = planned(service("w" * 62 + "x"), [endpoints(*_FOUR, of="w" * 62 + "x")])
    assert pool.key not in other.rules


# ---- several services -----------------------------------------------------------------------


def test_the_older_of_two_services_has_an_address() -> None:
    cache = Cache(SETTINGS)
    cache.put_node(node_of(node()))
    for name, created in ("new", "2026-02-01"), ("old", "2026-01-01"):
        found = service(name, addresses=["10.96.0.1"], created=created)
        cache.put_service(Key("default", name), service_of(found))
        cache.put_slice(Key("default", name), slice_of(endpoints(*_FOUR, name=name, of=name)))
    cache.plan()
    assert cache.wanted["SERVICE", "10.96.0.1:80/TCP"].refers == ("default/old:http",)
    assert cache.notes == [Note("H0890", "default/new: 10.96.0.1:80/TCP")]
    cache.put_service(Key("default", "old"), None)
    cache.plan()
    assert cache.wanted["SERVICE", "10.96.0.1:80/TCP"].refers == ("default/new:http",)
    assert not cache.notes


def _pool(*names: str) -> Rule:
    return Rule("POOL", "p", (), (), tuple(sorted(names)))


@pytest.mark.parametrize("before, after", [
    (range(255), range(255, 510)), (range(255), range(1, 256)), (range(3), range(3, 258)),
    (range(200), range(100, 355)),
])  # fmt: skip
def test_a_pool_changes_as_a_whole(before: range, after: range) -> None:
    """However many of its members change: there is one at each moment, and never too many."""
    values = (("address", "10.0.0.1"), ("port", "1"), ("place", "ELSEWHERE"), ("phase", "READY"),
              ("interface", "UPLINK"))  # fmt: skip
    members = [Rule("BACKEND", f"b{n}", (), values) for n in range(510)]
    book, wanted = Book(), {rule.key: rule for rule in members}
    for numbers in (before, after):
        pool = _pool(*(f"b{n}" for n in numbers))
        wanted = {**wanted, pool.key: pool}
        for step in steps(book.rules(), wanted, wanted, book.book.kinds):
            book.apply(step.sent)
        assert book.rules() == wanted


def test_a_large_difference_goes_in_parts() -> None:
    """From nothing to thousands of services and back: packed where that can be."""
    cache, book = Cache(replace(SETTINGS)), Book()
    cache.put_node(node_of(node()))
    for number in range(1200):
        name, last = f"s{number}", f"{number // 250}.{number % 250 + 1}"
        made = service_of(service(name, addresses=[f"10.96.{last}"]))
        found = slice_of(endpoints(endpoint(f"10.250.{last}", _OTHER), name=name, of=name))
        assert made is not None and found is not None
        cache.put_service(made.key, made)
        cache.put_slice(found.key, found)
    cache.plan()
    for wanted in (cache.wanted, {}):
        for step in steps(book.rules(), wanted, {*cache.wanted}, book.book.kinds):
            book.apply(step.sent)
        assert book.rules() == wanted
    assert book.sent < 12
