"""seeds: what an interval over seeds needs, for every bench that states one; as common/stats/interval.hpp decides it.

Errors   none
"""
LEAST_SEEDS = 5


def range_text(count, low, high, form="+.2f"):
    """"[-1.20, +0.40]"; "[needs 5 seeds]" where there are fewer."""
    return f"[{low:{form}}, {high:{form}}]" if count >= LEAST_SEEDS else f"[needs {LEAST_SEEDS} seeds]"
