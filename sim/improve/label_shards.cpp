#include "sim/improve/label_shards.hpp"

#include <algorithm>
#include <iterator>

#include "common/parse.hpp"
#include "placement/worth/features.hpp"
#include "sim/improve/imitate.hpp"

namespace wattle::sim::consolidation {

namespace {
constexpr std::size_t kMostShards = 10'000;
constexpr double kMostOrder = 1 << 24;  // whole numbers that a float represents
}  // namespace

std::string shard_name(std::size_t shard, std::size_t shards) {
  return "labels-" + std::to_string(shard) + "-of-" + std::to_string(shards) + ".safetensors";
}

models::Safetensors to_file(const LabelShard& shard) {
  models::Safetensors file{to_tensors(shard.labels), {}};
  models::Tensor order;
  for (const Label& label : shard.labels) order.values.push_back(static_cast<float>(label.order));
  order.shape = {static_cast<std::int64_t>(order.values.size())};
  file.tensors["order"] = std::move(order);
  file.metadata = {{"question", shard.question},
                   {"shard", std::to_string(shard.shard)},
                   {"shards", std::to_string(shard.shards)},
                   {"days_done", std::to_string(shard.days_done)},
                   {"feature_schema", placement::feature_schema_hash()}};
  return file;
}

Result<LabelShard> parse_label_shard(const models::Safetensors& file, const std::string& subject) {
  LabelShard out;
  const auto text = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  out.question = text("question");
  const auto shard = parse::u64(text("shard")), shards = parse::u64(text("shards")),
             done = parse::u64(text("days_done"));
  if (out.question.empty() || !shard || !shards || !done || *shards > kMostShards || *shard >= *shards)
    return fail(Errc::malformed, subject, "is not a shard of labels", "remove the file; it is then created again");
  if (text("feature_schema") != placement::feature_schema_hash())
    return fail(Errc::conflict, subject, "has labels of other features", "remove the file; it is then created again");
  out.shard = *shard;
  out.shards = *shards;
  out.days_done = *done;
  WATTLE_TRY(out.labels, parse_labels(file.tensors, subject));
  const auto order = file.tensors.find("order");
  if (order == file.tensors.end() || order->second.values.size() != out.labels.size())
    return fail(Errc::malformed, subject, "does not contain the order of its labels",
                "remove the file; it is then created again");
  for (std::size_t k = 0; k < out.labels.size(); ++k) {
    const auto value = static_cast<double>(order->second.values[k]);
    if (!(value >= 0 && value < kMostOrder))
      return fail(Errc::malformed, subject, "contains a label whose order is not a number",
                  "remove the file; it is then created again");
    out.labels[k].order = static_cast<std::size_t>(value);
  }
  return out;
}

Result<std::vector<Label>> merged(std::vector<LabelShard> shards, std::size_t days, const std::string& folder) {
  if (shards.empty()) return fail(Errc::not_found, folder, "has no labels", "make them: --shard I/N");
  const std::size_t wanted = shards.front().shards;
  std::vector<bool> there(wanted);
  std::vector<Label> all;
  for (LabelShard& each : shards) {
    const std::string name = folder + "/" + shard_name(each.shard, each.shards);
    if (each.question != shards.front().question || each.shards != wanted)
      return fail(Errc::conflict, name, "is of another record, start or options than the others", "remove old files");
    if (each.days_done < days)
      return fail(Errc::conflict, name,
                  "is done with " + std::to_string(each.days_done) + " of " + std::to_string(days) + " days",
                  "run that shard again; it continues");
    there[each.shard] = true;
    std::move(each.labels.begin(), each.labels.end(), std::back_inserter(all));
  }
  if (const auto missing = std::find(there.begin(), there.end(), false); missing != there.end())
    return fail(Errc::not_found, folder + "/" + shard_name(static_cast<std::size_t>(missing - there.begin()), wanted),
                "is missing", "run that shard");
  std::stable_sort(all.begin(), all.end(), [](const Label& a, const Label& b) { return a.order < b.order; });
  return all;
}

}  // namespace wattle::sim::consolidation
