// Archives: any bytes parse as a member or list, or give an error with a fix; parsed data is written as the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cli/archive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view block = bytes.substr(0, cli::kTarBlock);
  if (const auto member = cli::parse_member(block, "fuzz"); !member) {
    if (member.error().fix.empty()) std::abort();
  } else if (*member && !cli::is_member_name((*member)->name)) {
    std::abort();
  }
  const auto manifest = cli::parse_manifest(bytes, "fuzz");
  if (!manifest) {
    if (manifest.error().fix.empty()) std::abort();
    return 0;
  }
  const auto again = cli::parse_manifest(to_text(*manifest), "again");
  if (!again || again->files.size() != manifest->files.size()) std::abort();
  for (const cli::Member& one : manifest->files)
    if (!cli::is_member_name(one.name)) std::abort();
  return 0;
}
