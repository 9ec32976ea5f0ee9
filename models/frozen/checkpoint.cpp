#include "models/frozen/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "models/frozen/safetensors.hpp"

namespace wattle::models {

namespace {

using Json = SortedJson;

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

// Number before the first dot of one of our file names.
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
  std::uint64_t bytes = 0;
};

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= 64 && letter(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

// Stem of the file for a number or a name.
Result<std::string> stem_of(const std::string& name) {
  if (const auto number = parse::u64(name)) return stem_of(*number);
  if (is_name(name)) return name;
  return fail(Errc::malformed, "checkpoint '" + name + "'", "is neither a number nor a name",
              "use a letter, then letters, digits, - and _, at most 64");
}

Result<Vouched> parse_manifest(const std::string& text, const std::string& file) {
  const auto parsed = Json::parse(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20, .depth = kMaxDepth}, file);
  if (!parsed && parsed.error().code == Errc::out_of_range) return tl::unexpected<Error>(parsed.error());
  const Json json = parsed.value_or(Json());
  // Must be byte for byte what we would write, so that any change of the file is noticed.
  if (!json.is_object() || !json.contains(kOwnDigest) || text_of(json) != text)
    return fail(Errc::malformed, file, "is damaged or was edited: its own digest does not match");
  try {
    Vouched vouched;
    vouched.sha256 = json.at("sha256").get<std::string>();
    vouched.manifest.schema = json.at("schema").get<std::string>();
    vouched.manifest.step = json.at("step").get<std::uint64_t>();
    vouched.manifest.wall = wall_from_ns(json.at("wall_ns").get<std::int64_t>());
    vouched.manifest.figures = json.at("figures").get<std::map<std::string, double>>();
    vouched.manifest.network = json.value("network", std::string());
    vouched.manifest.reward = json.value("reward", std::string());
    if (json.contains("prior")) vouched.manifest.on_prior = json.at("prior").get<std::string>() != "none";
    vouched.manifest.certificate = json.value("certificate", std::string());
    if (json.contains("trusted")) {
      const Json& trusted = json.at("trusted");
      vouched.manifest.trusted =
          TrustedNetwork{trusted.at("name").get<std::string>(), trusted.at("prior").get<std::string>() != "none",
                         trusted.value("certificate", std::string())};
    }
    vouched.bytes = json.value("bytes", std::uint64_t{0});
    return vouched;
  } catch (const Json::exception& error) {
    return fail(Errc::malformed, file, error.what());
  }
}

Status check_schema(const Manifest& manifest, const std::string& schema, const std::string& file) {
  if (manifest.schema == schema) return {};
  return fail(Errc::unsupported, file, "was trained on feature layout " + manifest.schema + ", not " + schema,
              "train again, or run the version that wrote it");
}

// Changes when the weights or the manifest of a stem do.
std::string version_of(const std::string& stem_path) {
  std::string version;
  for (const char* end : {kWeightsEnd, kManifestEnd}) {
    std::error_code error;
    version += std::to_string(std::filesystem::file_size(stem_path + end, error)) + " ";
    const auto changed = std::filesystem::last_write_time(stem_path + end, error);
    version += std::to_string(changed.time_since_epoch().count()) + " ";
  }
  return version;
}

Result<LoadedCheckpoint> load(const Dir& dir, const std::string& stem, const std::string& schema) {
  const std::string manifest_name = stem + kManifestEnd;
  const std::string weights_name = stem + kWeightsEnd;
  WATTLE_TRY(const std::string text, dir.read_file(manifest_name));
  WATTLE_TRY(Vouched vouched, parse_manifest(text, dir.path() + "/" + manifest_name));
  WATTLE_CHECK(check_schema(vouched.manifest, schema, dir.path() + "/" + manifest_name));
  LoadedCheckpoint loaded;
  const auto number = parse::u64(stem);
  loaded.name = number ? std::to_string(*number) : stem;
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

Result<std::string> CheckpointDir::write(const std::string& stem, const Weights& tensors,
                                         const Manifest& manifest) const {
  for (const auto& [name, value] : manifest.figures)
    if (!std::isfinite(value)) return fail(Errc::out_of_range, path_, "figure " + name + " is not finite");
  const std::string weights_path = path_ + "/" + stem + kWeightsEnd;
  const std::string bytes =
      to_safetensors({tensors, {{"schema", manifest.schema}, {"step", std::to_string(manifest.step)}}});
  Json json = {{"sha256", sha256_hex(bytes)}, {"bytes", bytes.size()},           {"schema", manifest.schema},
               {"step", manifest.step},       {"wall_ns", to_ns(manifest.wall)}, {"figures", manifest.figures},
               {"network", manifest.network}};
  if (!manifest.reward.empty()) json["reward"] = manifest.reward;
  if (manifest.on_prior) json["prior"] = *manifest.on_prior ? "preset" : "none";
  if (!manifest.certificate.empty()) json["certificate"] = manifest.certificate;
  if (manifest.trusted)
    json["trusted"] = {{"name", manifest.trusted->name},
                       {"prior", manifest.trusted->on_prior ? "preset" : "none"},
                       {"certificate", manifest.trusted->certificate}};
  WATTLE_CHECK(write_file_atomically(weights_path, bytes, 0600));
  WATTLE_CHECK(write_file_atomically(path_ + "/" + stem + kManifestEnd, text_of(json), 0600));
  examined_[stem] = {version_of(path_ + "/" + stem) + manifest.schema, {}};
  return weights_path;
}

Result<std::string> CheckpointDir::save(const Weights& tensors, const Manifest& manifest) const {
  WATTLE_TRY(const std::vector<std::uint64_t> taken, numbers());
  const std::uint64_t number = taken.empty() ? 1 : taken.front() + 1;
  WATTLE_TRY(std::string weights_path, write(stem_of(number), tensors, manifest));
  WATTLE_CHECK(prune(number));
  return weights_path;
}

Result<std::string> CheckpointDir::save_as(const std::string& name, const Weights& tensors,
                                           const Manifest& manifest) const {
  if (!is_name(name))
    return fail(Errc::malformed, "checkpoint '" + name + "'", "is not a valid name",
                "use a letter, then letters, digits, - and _, at most 64");
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<DirEntry> entries, dir.list());
  const auto named = std::count_if(entries.begin(), entries.end(), [&](const DirEntry& entry) {
    return entry.name.ends_with(kManifestEnd) && !number_of(entry.name) && entry.name != name + kManifestEnd;
  });
  if (static_cast<std::size_t>(named) >= kMaxNamed)
    return fail(Errc::out_of_range, path_, "contains " + std::to_string(named) + " named checkpoints",
                "save under one of their names, or remove the files of one");
  return write(name, tensors, manifest);
}

Result<LoadedCheckpoint> CheckpointDir::load(const std::string& name, const std::string& schema) const {
  WATTLE_TRY(const std::string stem, stem_of(name));
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  return models::load(dir, stem, schema);
}

Result<std::vector<ListedCheckpoint>> CheckpointDir::list(const std::string& schema) const {
  WATTLE_TRY(const Dir dir, Dir::open_(path_));
  WATTLE_TRY(const std::vector<DirEntry> entries, dir.list());
  std::set<std::string> stems;  // sorted like the directory's entries; all numbers have the same number of digits
  for (const DirEntry& entry : entries)
    for (const std::string_view end : {kManifestEnd, kWeightsEnd})
      if (!entry.is_dir && entry.name.ends_with(end))
        stems.insert(entry.name.substr(0, entry.name.size() - end.size()));
  std::erase_if(stems, [](const std::string& stem) { return !number_of(stem + kManifestEnd) && !is_name(stem); });
  std::erase_if(examined_, [&](const auto& each) { return !stems.contains(each.first); });
  std::vector<ListedCheckpoint> found;
  for (const std::string& stem : stems) {
    const auto number = number_of(stem + kManifestEnd);
    ListedCheckpoint one;
    one.name = number ? std::to_string(*number) : stem;
    one.named = !number;
    const std::string manifest = stem + kManifestEnd;
    auto text = dir.read_file(manifest);
    auto vouched = text ? parse_manifest(*text, dir.path() + "/" + manifest) : Result<Vouched>(forward_error(text));
    if (vouched) {
      one.sha256 = vouched->sha256;
      one.bytes = vouched->bytes;
      one.manifest = std::move(vouched->manifest);
    }
    Examined& examined = examined_[stem];
    if (std::string version = version_of(path_ + "/" + stem) + schema; version != examined.version) {
      const auto loaded = models::load(dir, stem, schema);
      examined = {std::move(version), loaded ? std::string() : loaded.error().message()};
    }
    one.fault = examined.fault;
    found.push_back(std::move(one));
  }
  std::stable_partition(found.begin(), found.end(), [](const ListedCheckpoint& each) { return !each.named; });
  const auto names = std::find_if(found.begin(), found.end(), [](const ListedCheckpoint& each) { return each.named; });
  std::reverse(found.begin(), names);
  return found;
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
    auto loaded = models::load(dir, stem_of(number), schema);
    if (loaded) {
      loaded->skipped = std::move(skipped);
      return loaded;
    }
    skipped.push_back(std::move(loaded.error()));
  }
  if (skipped.empty()) return fail(Errc::not_found, path_, "contains no checkpoint");
  std::string reasons;
  for (const Error& error : skipped) reasons += (reasons.empty() ? "" : "; ") + error.message();
  return fail(Errc::malformed, path_, "contains no valid checkpoint: " + reasons,
              "restore a copy; otherwise learning starts from scratch");
}

}  // namespace wattle::models
