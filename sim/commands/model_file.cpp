#include "sim/commands/model_file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::sim::commands {

namespace {
constexpr std::size_t kMaxModelBytes = 64 << 20;

Result<models::Safetensors> read_model_of_these_features(const std::string& file) {
  WATTLE_TRY(auto model, read_model(file));
  const auto schema = model.metadata.find("feature_schema");
  if (schema != model.metadata.end() && schema->second != placement::feature_schema_hash())
    return fail(Errc::conflict, file, "was trained on other features (schema " + schema->second + ")",
                "train it again with wattle-sim train");
  return model;
}
}  // namespace

Status write_whole(const std::string& file, const std::string& text) {
  struct Close {
    void operator()(std::FILE* open) const { std::fclose(open); }
  };
  const std::unique_ptr<std::FILE, Close> out(std::fopen(file.c_str(), "w"));
  if (!out) return fail_errno(errno, file);
  if (std::fwrite(text.data(), 1, text.size(), out.get()) != text.size() || std::fflush(out.get()) != 0)
    return fail_errno(errno, file);
  return {};
}

Result<models::Safetensors> read_model(const std::string& file) {
  WATTLE_TRY(const auto bytes, read_file(file, kMaxModelBytes));
  return models::parse_safetensors(bytes, file);
}

Result<std::shared_ptr<const models::FrozenNetwork>> read_network(const std::string& file) {
  WATTLE_TRY(const auto model, read_model_of_these_features(file));
  if (model.tensors.contains("table"))
    return fail(Errc::conflict, file, "contains a table of tabular-q, not a network",
                "train a network with wattle-sim train");
  return models::FrozenNetwork::from_weights(model.tensors, 0, file, models::taught_on_prior(model.metadata));
}

Result<std::shared_ptr<const models::QNetwork>> read_learned(const std::string& file) {
  WATTLE_TRY(const auto model, read_model_of_these_features(file));
  return placement::network_of(model.tensors, 0, file, models::taught_on_prior(model.metadata));
}

Status write_model(const std::string& file, const models::Safetensors& model) {
  return write_file_atomically(file, models::to_safetensors(model));
}

}  // namespace wattle::sim::commands
