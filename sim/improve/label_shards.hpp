// label_shards: labels of recorded days in one file per process, which resumes after a kill, and the merge of all
// files.
// Format   safetensors: the tensors of labels (sim/improve/imitate), the `order` of each, and the question as metadata
// Same     the merged labels equal those of a single process, bit by bit
// Errors   malformed, conflict (labels of another record, start or options; a shard that is missing or not done): names
//          the file
// Threads  pure functions
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/safetensors.hpp"
#include "sim/improve/rollout.hpp"

namespace wattle::sim::consolidation {

struct LabelShard {
  std::string question;  // digest of all inputs of the labels
  std::size_t shard = 0, shards = 1;
  std::size_t days_done = 0;
  std::vector<Label> labels;  // `order` counts over all days
};
std::string shard_name(std::size_t shard, std::size_t shards);  // of its file
models::Safetensors to_file(const LabelShard& shard);
Result<LabelShard> parse_label_shard(const models::Safetensors& file, const std::string& subject);
// Merges the shards of one question. All must be present and made with this number of days.
Result<std::vector<Label>> merged(std::vector<LabelShard> shards, std::size_t days, const std::string& folder);

}  // namespace wattle::sim::consolidation
