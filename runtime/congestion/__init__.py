"""Detects congestion of a pipeline's own packets by its queues, and marks rules so that the
pipeline diverts traffic.

A pipeline takes part by a convention of names: a rule kind CONGESTION that matches
`congested`, there while the pipeline is congested; and kinds that give `queue` and `overloaded`.
"""
