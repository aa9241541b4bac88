"""Congestion that a pipeline's own packets meet: watched in its queues, and reported to pipelines
that divert traffic.

What is asked of a pipeline is a convention of names: a rule kind CONGESTION that matches
`congested`, there while the pipeline is congested; and kinds that give `queue` and `overloaded`.
"""
