"""patience: timeouts by class, for tests, which never name seconds. They are generous, because waits end with the
event.

Source   WATTLE_PATIENCE, a factor that scripts/run-tests sets (4 under AddressSanitizer, 8 under ThreadSanitizer, else
         1); only this file reads it
Units    seconds
"""
import os
import time

FACTOR = float(os.environ.get("WATTLE_PATIENCE") or 1)
MOMENT_S = 2 * FACTOR  # for events that must not happen: long enough to catch an immediate one
SOON_S = 60 * FACTOR  # an answer of a running process
LATE_S = 300 * FACTOR  # processes that start, connect and get a decision
AGES_S = 900 * FACTOR  # a program that runs to its end


def holds(condition, seconds=LATE_S, every_s=0.05):
    """Polls until `condition` returns a true value, and returns the last value."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(every_s)
    return found


def let_a_moment_pass(seconds=MOMENT_S):
    """Waits for a span in which an event must not happen."""
    time.sleep(seconds)


def pace(seconds):
    """Waits for a time that is part of a test's input: the moment of a kill, the rate of a load. No claim may depend on
    its end."""
    time.sleep(seconds)
