"""patience: classes of timeouts for tests, which never name seconds. They are generous, because waits end with the
event.

Source   WATTLE_PATIENCE, a factor that scripts/run-tests sets (4 under AddressSanitizer, 8 under ThreadSanitizer, else
         1); only this file reads it
Units    seconds
"""
import os
import time

FACTOR = float(os.environ.get("WATTLE_PATIENCE") or 1)
MOMENT_S = 2 * FACTOR  # for what must not happen: long enough to catch a program that does it at once
SOON_S = 60 * FACTOR  # an answer of a process that runs
LATE_S = 300 * FACTOR  # processes that start, connect, are decided about
AGES_S = 900 * FACTOR  # a whole program that works to its end


def holds(condition, seconds=LATE_S, every_s=0.05):
    """Polls until `condition` gives something true and returns that; what it gave last if it never did."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(every_s)
    return found


def let_a_moment_pass(seconds=MOMENT_S):
    """In which something must not happen."""
    time.sleep(seconds)


def pace(seconds):
    """Time that is part of what a test puts in: the moment of a kill, the rate of a load. No claim may follow from its
    being over."""
    time.sleep(seconds)
