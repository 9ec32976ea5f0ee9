// JSON: text that nlohmann's parser accepts is accepted and written in the same bytes, within the limits; other text is
// refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/json/value.hpp"

namespace {

template <class Ours, class Theirs>
void check(std::string_view text) {
  const auto ours = Ours::parse(text, {.text_bytes = 4096, .built_bytes = 64 << 10, .depth = 16});
  if (!ours && ours.error().code == wattle::Errc::out_of_range) return;
  const auto theirs = Theirs::parse(text, nullptr, false);
  if (ours.has_value() == theirs.is_discarded()) std::abort();
  if (!ours) return;
  if (ours->dump() != theirs.dump()) std::abort();
  if (ours->dump(1, wattle::JsonText::ascii) != theirs.dump(1, ' ', true)) std::abort();
  if (!(*ours == *ours)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<wattle::SortedJson, nlohmann::json>(text);
  check<wattle::OrderedJson, nlohmann::ordered_json>(text);
  return 0;
}
