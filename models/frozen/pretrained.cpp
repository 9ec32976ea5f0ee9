#include "models/frozen/pretrained.hpp"

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "models/frozen/layout.hpp"
#include "models/frozen/safetensors.hpp"

namespace wattle::models {

namespace {
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr const char* kAnew = "use the file of this version, or train a network with wattle-sim train";
}  // namespace

std::string network_digest(const Weights& weights) { return sha256_hex(to_safetensors({weights, {}})); }

bool taught_on_prior(const std::map<std::string, std::string>& metadata) {
  const auto prior = metadata.find("prior");
  if (prior != metadata.end()) return prior->second != "none";
  const auto reward = metadata.find("reward");
  return had_prior(reward == metadata.end() ? std::string_view() : reward->second);
}

Result<Pretrained> parse_pretrained(std::string_view bytes, const std::string& file, const std::string& schema,
                                    const std::string& reward) {
  WATTLE_TRY(Safetensors model, parse_safetensors(bytes, file));
  const auto reported = [&](const char* key) {
    const auto found = model.metadata.find(key);
    return found == model.metadata.end() ? std::string() : found->second;
  };
  for (const char* key : {"feature_schema", "reward", "network_sha256"})
    if (reported(key).empty()) return fail(Errc::malformed, file, std::string("does not contain its ") + key, kAnew);
  if (reported("feature_schema") != schema)
    return fail(Errc::conflict, file,
                "was trained on other features (schema " + reported("feature_schema") + ", but this version needs " +
                    schema + ")",
                kAnew);
  if (reported("reward") != reward)
    return fail(Errc::conflict, file, "was trained for the reward preset " + reported("reward") + ", not " + reward,
                "use another file or none");
  WATTLE_CHECK(flatten(model.tensors, file));
  Pretrained out{std::move(model.tensors), file, reported("network_sha256"), taught_on_prior(model.metadata),
                 reported("certificate")};
  if (network_digest(out.weights) != out.network_sha256)
    return fail(Errc::malformed, file, "is damaged: its weights do not match its network_sha256", kAnew);
  return out;
}

Result<Pretrained> read_pretrained(const std::string& file, const std::string& schema, const std::string& reward) {
  WATTLE_TRY(const std::string bytes, read_file(file, kMaxBytes));
  return parse_pretrained(bytes, file, schema, reward);
}

}  // namespace wattle::models
