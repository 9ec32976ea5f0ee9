// derive: computes comparisons from contestants' episodes.
// Units    ratios minus 1; decisions
// Errors   none
// Threads  pure
#pragma once

#include <vector>

#include "lab/report/suite.hpp"

namespace wattle::sim::suite {

// a[i].what / b[i].what - 1, seed by seed.
std::vector<double> ratios(const std::vector<EpisodeFigures>& a, const std::vector<EpisodeFigures>& b,
                           double EpisodeFigures::*what);
Interval paired_iqm(const std::vector<double>& values);

// Returns the decisions after `from_s` until the joules of the next 30 are within 2 % of the reference's, paired by
// decision; the number of all decisions if that never happens.
double recovered_after(const EpisodeTrace& trace, const EpisodeTrace& reference, double from_s);

// Fills each entry's energy, comparisons, recovered_after and worst_window. `traces`: per entry and seed.
void derive(TrialResult& result, const std::vector<std::vector<EpisodeTrace>>& traces);

}  // namespace wattle::sim::suite
