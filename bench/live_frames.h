// When frames are sent: see live_frames.py.
#pragma once

struct pace {
	__u32 interface, sent;
	__u64 due, interval, duration, until; // ns; a frame is sent when it is due, until so long after the first
};

// Whether one is sent now.
static __always_inline int is_due(struct pace *p)
{
	__u64 now = bpf_ktime_get_ns();

	if (!p->until)
		p->until = now + p->duration;
	if (now < p->due || now > p->until)
		return 0;
	// After a long delay it does not catch up.
	p->due = p->due + 1000000 < now ? now + p->interval : p->due + p->interval;
	return 1;
}
