// derive: what follows from contestants' episodes side by side.
// Units    ratios less 1; decisions
// Errors   none
// Threads  pure
#pragma once

#include <vector>

#include "sim/report/suite.hpp"

namespace wattle::sim::suite {

// a[i].what / b[i].what - 1, seed by seed.
std::vector<double> ratios(const std::vector<EpisodeFigures>& a, const std::vector<EpisodeFigures>& b,
                           double EpisodeFigures::*what);
Interval paired_iqm(const std::vector<double>& values);

// Decisions after `from_s` until the joules of the next 30 are within 2 % of the reference's, paired by decision; all that there are
// when that never comes.
double recovered_after(const EpisodeTrace& trace, const EpisodeTrace& reference, double from_s);

// Fills each entry's energy, comparisons, recovered_after and worst_window. `traces`: of each entry, of each seed.
void derive(TrialResult& result, const std::vector<std::vector<EpisodeTrace>>& traces);

}  // namespace wattle::sim::suite
