#include "models/frozen/checkpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "models/frozen/safetensors.hpp"

namespace wattle::models {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxWeightsBytes = 256U << 20U;
constexpr std::size_t kDigits = 10;
constexpr int kMaxDepth = 8;
constexpr const char* kWeightsEnd = ".safetensors";
constexpr const char* kManifestEnd = ".json";
constexpr const char* kOwnDigest = "manifest_sha256";

std::string stem_of(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

// The number that a name of ours begins with, whatever follows its first dot.
std::optional<std::uint64_t> number_of(std::string_view name) {
  const auto dot = name.find('.');
  if (dot != kDigits) return std::nullopt;
  return parse::u64(name.substr(0, dot));
}

std::string text_of(Json json) {
  json.erase(kOwnDigest);
  json[kOwnDigest] = sha256_hex(json.dump(2));
  return json.dump(2) + "\n";
}

struct Vouched {
  Manifest manifest;
  std::string sha256;
};

Result<Vouched> parse_manifest(const std::string& text, const std::string& file) {
  // Writing it out again, as below, goes as deep as it is nested.
  bool deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) { return !(deep = deep || depth > kMaxDepth); };
  const Json json = Json::parse(text, shallow, false);
  if (deep) return fail(Errc::malformed, file, "is nested deeper than a manifest is");
  // Byte for byte what we would write: so every change of the file is noticed, not only one of a value we use.
  if (!json.is_object() || !json.contains(kOwnDigest) || text_of(json) != text)
    return fail(Errc::malformed, file, "is damaged or was edited: its own digest does not match");
  try {
    Vouched vouched;
    vouched.sha256 = json.at("sha256").get<std::string>();
    vouched.manifest.schema = json.at("schema").get<std::string>();
    vouched.manifest.step = json.at("step").get<std::uint64_t>();
    vouched.manifest.wall = wall_from_ns(json.at("wall_ns").get<std::int64_t>());
    vouched.manifest.figures = json.at("figures").get<std::map<std::string, double>>();
    return vouched;
  } catch (const Json::exception& error) {
    return fail(Errc::malformed, file, error.what());
  }
}

Result<LoadedCheckpoint> load(const Dir& dir, std::uint64_t number, const std::string& schema) {
  const std::string manifest_name = stem_of(number) + kManifestEnd;
  const std::string weights_name = stem_of(number) + kWeightsEnd;
  WATTLE_TRY(const std::string text, dir.read_file(manifest_name));
  WATTLE_TRY(Vouched vouched, parse_manifest(text, dir.path() + "/" + manifest_name));
  if (vouched.manifest.schema != schema)
    return fail(Errc::unsupported, dir.path() + "/" + manifest_name,
                "trained on feature layout " + vouched.manifest.schema + ", not " + schema,
                "train again, or run the version that wrote it");
  LoadedCheckpoint loaded;
  loaded.file = dir.path() + "/" + weights_name;
  WATTLE_TRY(const std::string bytes, dir.read_file(weights_name, kMaxWeightsBytes));
  if (sha256_hex(bytes) != vouched.sha256)
    return fail(Errc::malformed, loaded.file, "is damaged: its SHA-256 is not the one in " + manifest_name);
  WATTLE_TRY(Safetensors content, parse_safetensors(bytes, loaded.file));
  loaded.tensors = std::move(content.tensors);
  loaded.manifest = std::move(vouched.manifest);
  return loaded;
}

}  // namespace

Result<CheckpointDir> CheckpointDir::open_(const std::string& path, std::size_t keep) {
  if (keep == 0) return fail(Errc::out_of_range, path, "keep is 0", "keep at least 1 checkpoint");
  WATTLE_CHECK(make_dirs(path));
  WATTLE_TRY(const Dir dir, Dir::open_(path));
  return CheckpointDir(path, keep);
}

Result<std::vector<std::uint64_t>> CheckpointDir::numbers() const {
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<DirEntry> entries, dir.list());
  std::set<std::uint64_t, std::greater<>> found;
  for (const DirEntry& entry : entries)
    if (const auto number = number_of(entry.name)) found.insert(*number);
  return std::vector<std::uint64_t>(found.begin(), found.end());
}

Result<std::string> CheckpointDir::save(const Weights& tensors, const Manifest& manifest) const {
  for (const auto& [name, value] : manifest.figures)
    if (!std::isfinite(value)) return fail(Errc::out_of_range, path_, "figure " + name + " is not finite");
  WATTLE_TRY(const std::vector<std::uint64_t> taken, numbers());
  const std::uint64_t number = taken.empty() ? 1 : taken.front() + 1;
  const std::string weights_path = path_ + "/" + stem_of(number) + kWeightsEnd;
  const std::string bytes =
      to_safetensors({tensors, {{"schema", manifest.schema}, {"step", std::to_string(manifest.step)}}});
  const Json json = {{"sha256", sha256_hex(bytes)}, {"bytes", bytes.size()},           {"schema", manifest.schema},
                     {"step", manifest.step},       {"wall_ns", to_ns(manifest.wall)}, {"figures", manifest.figures}};
  WATTLE_CHECK(write_file_atomically(weights_path, bytes));
  WATTLE_CHECK(write_file_atomically(path_ + "/" + stem_of(number) + kManifestEnd, text_of(json)));
  WATTLE_CHECK(prune(number));
  return weights_path;
}

Status CheckpointDir::prune(std::uint64_t newest) const {
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<DirEntry> entries, dir.list());
  std::set<std::uint64_t, std::greater<>> whole;
  for (const DirEntry& entry : entries)
    if (const auto number = number_of(entry.name); number && entry.name == stem_of(*number) + kManifestEnd)
      whole.insert(*number);
  while (whole.size() > keep_) whole.erase(std::prev(whole.end()));
  for (const DirEntry& entry : entries) {
    const auto number = number_of(entry.name);
    if (!number || *number > newest) continue;
    const std::string stem = stem_of(*number);
    const bool needed =
        whole.contains(*number) && (entry.name == stem + kManifestEnd || entry.name == stem + kWeightsEnd);
    if (needed || entry.is_dir) continue;
    std::error_code error;
    std::filesystem::remove(path_ + "/" + entry.name, error);
    if (error) return fail_errno(error.value(), path_ + "/" + entry.name);
  }
  return {};
}

Result<LoadedCheckpoint> CheckpointDir::load_newest(const std::string& schema) const {
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<std::uint64_t> found, numbers());
  std::vector<Error> skipped;
  for (const std::uint64_t number : found) {
    auto loaded = load(dir, number, schema);
    if (loaded) {
      loaded->skipped = std::move(skipped);
      return loaded;
    }
    skipped.push_back(std::move(loaded.error()));
  }
  if (skipped.empty()) return fail(Errc::not_found, path_, "holds no checkpoint");
  std::string reasons;
  for (const Error& error : skipped) reasons += (reasons.empty() ? "" : "; ") + error.message();
  return fail(Errc::malformed, path_, "holds no valid checkpoint: " + reasons,
              "restore one from a copy, or leave it: learning begins anew");
}

}  // namespace wattle::models
