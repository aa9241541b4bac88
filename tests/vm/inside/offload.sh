#!/bin/bash
# Load objects for nfpsim0 and attach their programs, in a virtual machine; a line each:
# OBJECT PROGRAM COUNT of NFP instructions, or OBJECT refused WHY.
ip link set nfpsim0 up
for object in "$@"; do
	name=$(basename "$object" .o)
	pins=/sys/fs/bpf/$name
	mkdir "$pins"
	if ! said=$(bpftool prog loadall "$object" "$pins" type xdp dev nfpsim0 2>&1); then
		echo "$name refused $(echo "$said" | grep -E 'nfp\]|failed|not supp' | head -n 2 | tr '\n' ' ')"
		continue
	fi
	for program in "$pins"/*; do
		octets=$(bpftool -j prog show pinned "$program" | grep -o '"bytes_jited":[0-9]*' | cut -d: -f2)
		if said=$(ip link set dev nfpsim0 xdpoffload pinned "$program" 2>&1); then
			ip link set dev nfpsim0 xdpoffload off
			echo "$name $(basename "$program") $((octets / 8))"
		else
			echo "$name refused $said"
		fi
	done
	rm -r "$pins"
done
