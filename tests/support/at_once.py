"""Work on several CPUs at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


def at_once(*works: Callable[[], None]) -> None:
    """Each on a CPU of its own, if there are so many."""
    cpus = sorted(os.sched_getaffinity(0))
    begin, failed = threading.Barrier(len(works)), list[BaseException]()

    def go(number: int, work: Callable[[], None]) -> None:
        try:
            os.sched_setaffinity(0, {cpus[number % len(cpus)]})  # this thread
            begin.wait(10)
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=go, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failed and not any(thread.is_alive() for thread in threads), failed
