"""Congestion of the host: seen in the kernel's counters, told to pipelines that send traffic on.

What is asked of a pipeline is a convention of names: a rule kind CONGESTION that matches
`congested`, there while the host is congested; and kinds that give `queue` and `overloaded`.
"""
