// Allow lists: any text parses or gives a list of errors, and a parsed list formats to its own text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/transport/keys.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::transport;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto identity = Identity::from_user_id(text);
  if (identity && identity->user_id() != text) std::abort();
  const auto list = AllowList::parse(text, "fuzz");
  if (!list) {
    if (list.error().what.empty()) std::abort();
    return 0;
  }
  const auto again = AllowList::parse(list->text(), "again");
  if (!again || again->text() != list->text() || again->size() != list->size()) std::abort();
  return 0;
}
