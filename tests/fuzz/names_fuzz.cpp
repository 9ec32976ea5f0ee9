// Names of directories and zones: for any name, an owner's name and a pod's UID are one path element each.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/collect/identity.hpp"
#include "agent/collect/rapl.hpp"

using namespace wattle;
using namespace wattle::agent;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto owner = identify(text)) {
    if (owner->name.empty()) std::abort();
    if (owner->kind == WorkloadKind::pod && owner->name.size() != 36 && owner->name.size() != 32) std::abort();
    if (!owner->container_id.empty() && owner->container_id.size() != 64) std::abort();
  }
  if (unescape_unit(text).size() > text.size()) std::abort();
  if (const auto zone = parse_zone_name(text)) {
    if (zone->label().empty()) std::abort();
  }
  if (parent_zone(text).size() > text.size()) std::abort();
  return 0;
}
