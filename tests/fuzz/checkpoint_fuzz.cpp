// Checkpoints: any two files load or give a named error; a loaded checkpoint survives a round trip. The first byte
// selects whether digests are corrected first, which a fuzzer cannot guess; a NUL separates manifest and weights.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/digest.hpp"
#include "common/json/value.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/safetensors.hpp"

namespace {

using namespace wattle;
using namespace wattle::models;
using Json = wattle::SortedJson;

std::string folder() {
  static const std::string made = [] {
    const bool memory = std::filesystem::exists("/dev/shm");  // each save calls fsync
    std::string path =
        (memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) + "/wattle-fuzz-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    static std::string left;
    left = path;
    std::atexit([] { std::filesystem::remove_all(left); });
    return path;
  }();
  return made;
}

void write(const std::string& name, const std::string& bytes) {
  std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
}

std::string vouched(const std::string& manifest, const std::string& weights) {
  Json json = Json::read(manifest, {64 << 20, 1 << 30});
  if (!json.is_object()) return manifest;
  json["sha256"] = sha256_hex(weights);
  json.erase("manifest_sha256");
  json["manifest_sha256"] = sha256_hex(json.dump(2));
  return json.dump(2) + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string manifest = input.substr(0, input.find('\0'));
  std::string weights = input.substr(std::min(input.size(), manifest.size() + 1));
  if (data[0] % 4 == 1) weights = to_safetensors({{{"a", {{2}, {1, 2}}}}, {}});
  if (data[0] % 4 != 0) manifest = vouched(manifest, weights);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) std::filesystem::remove(entry.path());
  write("0000000007.json", manifest);
  write("0000000007.safetensors", weights);
  const auto dir = CheckpointDir::open_(folder());
  if (!dir) std::abort();
  const auto loaded = dir->load_newest("s");
  if (!loaded) {
    if (loaded.error().what.empty()) std::abort();
    return 0;
  }
  const auto saved = dir->save(loaded->tensors, loaded->manifest);
  if (!saved) std::abort();
  const auto again = dir->load_newest("s");
  if (!again || again->file != *saved || again->manifest.step != loaded->manifest.step ||
      again->manifest.figures != loaded->manifest.figures || again->tensors.size() != loaded->tensors.size())
    std::abort();
  return 0;
}
