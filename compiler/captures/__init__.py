"""Captures of packets: pcap and pcapng files, read and written."""
