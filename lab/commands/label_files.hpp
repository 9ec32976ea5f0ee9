// label_files: files with labels of choices, as `wattle-lab labels` writes them.
// Errors   conflict: labels of other features; those of reading a file
// Threads  any
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::commands {

// Labels of all files, in their order, and the number of fleets. Labels of other features give conflict.
struct ReadLabels {
  std::vector<consolidation::Label> labels;
  std::size_t fleets = 0;
};
Result<ReadLabels> read_labels(const std::vector<std::string>& files);

}  // namespace wattle::sim::commands
