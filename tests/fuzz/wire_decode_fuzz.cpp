// Wire messages: any bytes decode or give an error, and a decoded message survives a round trip. The same holds for a
// single record, as spool and store keep it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "common/wire/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::wire;
  if (const auto record = decode_record({reinterpret_cast<const char*>(data), size})) {
    const std::string bytes = encode_record(*record);
    const auto again = decode_record(bytes);
    if (!again || encode_record(*again) != bytes) std::abort();
  }
  std::vector<std::string_view> records;
  const auto message = decode({reinterpret_cast<const char*>(data), size}, {}, &records);
  if (!message) {
    if (message.error().subject.empty() || message.error().what.empty()) std::abort();
    return 0;
  }
  if (const auto* samples = std::get_if<Samples>(&*message)) {
    if (records.size() != samples->records.size()) std::abort();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto alone = decode_record(records[i]);
      if (!alone || encode_record(*alone) != encode_record(samples->records[i])) std::abort();
    }
  }
  const std::string bytes = encode(*message);
  const auto again = decode(bytes);
  if (!again || encode(*again) != bytes) std::abort();
  return 0;
}
