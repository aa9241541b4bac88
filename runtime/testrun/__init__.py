"""Runs packets through privately loaded pipelines, by BPF_PROG_TEST_RUN."""
