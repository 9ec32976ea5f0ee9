// registry: who is made where; for registry.cpp and the files that define them.
// Errors   none;  Threads  any
#pragma once

#include <memory>

#include "sim/baselines/baseline.hpp"

namespace wattle::sim {

std::unique_ptr<Baseline> make_target_load_packing();
std::unique_ptr<Baseline> make_lvrb();
std::unique_ptr<Baseline> make_koordinator();

}  // namespace wattle::sim
