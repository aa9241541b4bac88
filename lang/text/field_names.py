"""Names of headers and fields that people bring along."""

from __future__ import annotations

#: Fields of headers, as Linux and P4 call them.
FIELDS = {
    "ack_seq": "acknowledgment", "check": "checksum", "daddr": "dst", "dest": "dst", "dport": "dst",
    "dstAddr": "dst", "dst_addr": "dst", "dstPort": "dst", "etherType": "type",
    "ether_type": "type", "frag_off": "fragment_offset", "h_dest": "dst", "h_proto": "type",
    "h_source": "src", "hdrChecksum": "checksum",
    "identification": "id", "nexthdr": "next_header", "nextHdr": "next_header",
    "proto": "protocol", "seq": "sequence", "saddr": "src", "source": "src", "sport": "src",
    "srcAddr": "src", "src_addr": "src", "srcPort": "src", "tot_len": "total_length",
    "totalLen": "total_length", "vid": "id",
}  # fmt: skip

#: Headers.
HEADERS = {
    "eth": "ethernet", "ether": "ethernet", "ethhdr": "ethernet", "ip": "ipv4", "ip4": "ipv4",
    "iph": "ipv4", "iphdr": "ipv4", "ip6": "ipv6", "ipv6hdr": "ipv6", "tcph": "tcp",
    "tcphdr": "tcp", "udph": "udp", "udphdr": "udp", "dot1q": "vlan", "icmph": "icmp",
    "icmp6": "icmpv6",
}  # fmt: skip
