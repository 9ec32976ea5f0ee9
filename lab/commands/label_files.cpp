#include "lab/commands/label_files.hpp"

#include <algorithm>
#include <iterator>

#include "common/parse.hpp"
#include "placement/worth/features.hpp"
#include "sim/commands/model_file.hpp"

namespace wattle::sim::commands {

Result<ReadLabels> read_labels(const std::vector<std::string>& files) {
  ReadLabels all;
  for (const std::string& file : files) {
    WATTLE_TRY(const auto model, read_model(file));
    const auto schema = model.metadata.find("feature_schema");
    if (schema == model.metadata.end() || schema->second != placement::feature_schema_hash())
      return fail(Errc::conflict, file, "contains labels of other features",
                  "create the labels again with wattle-lab labels");
    WATTLE_TRY(auto labels, consolidation::parse_labels(model.tensors, file));
    std::move(labels.begin(), labels.end(), std::back_inserter(all.labels));
    const auto fleets = model.metadata.find("fleets");  // files of before do not have it: one at least
    all.fleets += fleets == model.metadata.end() ? 1 : parse::integer<std::size_t>(fleets->second).value_or(1);
  }
  return all;
}

}  // namespace wattle::sim::commands
