"""seeds: the number of seeds that an interval needs, for every bench that reports one; as in common/stats/interval.hpp.

Errors   none
"""
LEAST_SEEDS = 5


def range_text(count, low, high, form="+.2f"):
    """Returns "[-1.20, +0.40]", or "[needs 5 seeds]" for fewer seeds."""
    return f"[{low:{form}}, {high:{form}}]" if count >= LEAST_SEEDS else f"[needs {LEAST_SEEDS} seeds]"
