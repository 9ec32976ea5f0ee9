#include "models/frozen/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "common/json/value.hpp"

namespace wattle::models {

namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

using Json = SortedJson;

constexpr std::size_t kMaxHeaderBytes = 1U << 20U;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::uint64_t kMaxValues = 1ULL << 40U;  // larger than any file, far below overflow
constexpr const char* kMetadata = "__metadata__";

// Rejects a repeated key; the JSON library would keep the last.
std::optional<Json> parse_header(std::string_view text) {
  std::vector<std::set<std::string, std::less<>>> keys;  // keys of the enclosing objects
  bool repeated = false;
  const auto watch = [&](std::size_t depth, std::string_view key) {
    // A list of objects, whose keys would share one set here, is rejected below.
    keys.resize(depth);
    if (!keys.back().emplace(key).second) repeated = true;
    return true;
  };
  Json header = Json::read(text, {.text_bytes = kMaxHeaderBytes, .built_bytes = 64 << 20}, watch);
  if (header.is_discarded() || repeated || !header.is_object()) return std::nullopt;
  return header;
}

struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<Entry> parse_entry(const std::string& name, const Json& json, const std::string& subject) {
  const auto bad = [&](const std::string& what) {
    return fail(Errc::malformed, subject, "tensor " + name + ": " + what);
  };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return bad("must have only dtype, shape and data_offsets");
  if (json["dtype"] != "F32") return fail(Errc::unsupported, subject, "tensor " + name + ": dtype is not F32");
  const Json& shape = json["shape"];
  const Json& offsets = json["data_offsets"];
  const auto whole = [](const Json& v) { return v.is_number_unsigned(); };
  if (!shape.is_array() || shape.size() > kMaxDimensions || !std::all_of(shape.begin(), shape.end(), whole))
    return bad("shape is not a list of at most 8 sizes");
  if (!offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), whole))
    return bad("data_offsets is not [begin, end]");
  Entry entry;
  entry.name = name;
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  std::uint64_t values = 1;
  for (const Json& size : shape) {
    const auto n = size.get<std::uint64_t>();
    if (n > kMaxValues || (n != 0 && values > kMaxValues / n)) return bad("shape is too large");
    values *= n;
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  if (entry.end < entry.begin || entry.end - entry.begin != values * sizeof(float))
    return bad("data_offsets do not match the shape");
  return entry;
}

}  // namespace

std::string to_safetensors(const Safetensors& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : content.tensors) {
    const std::uint64_t end = offset + tensor.values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the values
  const std::uint64_t length = text.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes.reserve(bytes.size() + text.size() + offset);
  bytes += text;
  for (const auto& [name, tensor] : content.tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
  return bytes;
}

Result<Safetensors> parse_safetensors(std::string_view bytes, const std::string& subject) {
  const auto bad = [&](const std::string& what) { return fail(Errc::malformed, subject, what); };
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) return bad("is too short for a safetensors file");
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length > kMaxHeaderBytes) return bad("header of " + std::to_string(length) + " bytes exceeds 1 MiB");
  if (length > bytes.size()) return bad("is truncated in its header");
  const auto header = parse_header(bytes.substr(0, length));
  if (!header) return bad("header is not a JSON object with distinct keys");
  bytes.remove_prefix(length);

  Safetensors content;
  std::vector<Entry> entries;
  for (const auto& [name, json] : header->items()) {
    if (name != kMetadata) {
      WATTLE_TRY(Entry entry, parse_entry(name, json, subject));
      entries.push_back(std::move(entry));
      continue;
    }
    if (!json.is_object()) return bad("__metadata__ is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) return bad("__metadata__ " + key + " is not a string");
      content.metadata[key] = value.get<std::string>();
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) return bad("tensor " + entry.name + ": leaves a gap or overlaps another");
    if (entry.end > bytes.size()) return bad("tensor " + entry.name + ": reaches beyond the end of the file");
    Tensor& tensor = content.tensors[entry.name];
    tensor.shape = entry.shape;
    tensor.values.resize((entry.end - entry.begin) / sizeof(float));
    if (!tensor.values.empty()) std::memcpy(tensor.values.data(), bytes.data() + entry.begin, entry.end - entry.begin);
    at = entry.end;
  }
  if (at != bytes.size()) return bad(std::to_string(bytes.size() - at) + " bytes after the last tensor");
  return content;
}

}  // namespace wattle::models
