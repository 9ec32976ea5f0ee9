// statistics: the functions of common/stats that compare episodes.
// Errors   none
// Threads  pure functions
#pragma once

#include "common/stats/bootstrap.hpp"
#include "common/stats/permutation.hpp"

namespace wattle::sim {

using stats::enough_seeds;
using stats::holm;
using stats::interquartile_mean;
using stats::Interval;
using stats::interval_text;
using stats::iqm_interval;
using stats::iqm_ratio;
using stats::mean;
using stats::paired_difference;
using stats::paired_ratio;
using stats::range_text;
using stats::seeds_note;
using stats::sign_flip_p;

}  // namespace wattle::sim
