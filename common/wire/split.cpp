// Where the records within Samples begin and end, without decoding them again.
// Source   msgpack's specification (github.com/msgpack/msgpack/blob/master/spec.md), "Formats"
#include <optional>

#include "common/wire/codec.hpp"

namespace wattle::wire {
namespace {

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  std::size_t at() const { return at_; }

  // The size of the array that begins here; goes behind its head.
  std::optional<std::size_t> array() {
    const Head head = next();
    if (!head.valid || !head.array) return std::nullopt;
    return head.values;
  }
  // Behind the value that begins here. Nothing is nested on the stack.
  bool skip() {
    std::size_t left = 1;
    while (left > 0) {
      const Head head = next();
      if (!head.valid || head.values > bytes_.size()) return false;
      left += head.values - 1;
      if (left > bytes_.size()) return false;
    }
    return true;
  }

 private:
  struct Head {
    bool valid = false, array = false;
    std::size_t values = 0;  // within it
  };

  Head next() {
    if (at_ >= bytes_.size()) return {};
    const unsigned first = static_cast<unsigned char>(bytes_[at_++]);
    if (first <= 0x7f || first >= 0xe0) return {true};                       // small integers
    if (first <= 0x8f) return {true, false, std::size_t{2} * (first & 15)};  // small map
    if (first <= 0x9f) return {true, true, first & 15};
    if (first <= 0xbf) return over(first & 31);  // small text
    switch (first) {
      case 0xc0:  // nil, false, true
      case 0xc2:
      case 0xc3:
        return {true};
      case 0xca:
        return over(4);
      case 0xcb:
        return over(8);
      case 0xcc:  // integers of 1, 2, 4, 8 bytes
      case 0xcd:
      case 0xce:
      case 0xcf:
        return over(std::size_t{1} << (first - 0xcc));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return over(std::size_t{1} << (first - 0xd0));
      case 0xd9:  // texts
        return over(number(1));
      case 0xda:
        return over(number(2));
      case 0xdb:
        return over(number(4));
      case 0xdc:
        return sized(number(2), 1, true);
      case 0xdd:
        return sized(number(4), 1, true);
      case 0xde:
        return sized(number(2), 2, false);
      case 0xdf:
        return sized(number(4), 2, false);
      default:  // binary and extension values, which Wattle does not use
        return {};
    }
  }
  std::optional<std::size_t> number(std::size_t width) {
    if (bytes_.size() - at_ < width) return std::nullopt;
    std::size_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
    return value;
  }
  Head over(std::optional<std::size_t> bytes) {
    if (!bytes || bytes_.size() - at_ < *bytes) return {};
    at_ += *bytes;
    return {true};
  }
  static Head sized(std::optional<std::size_t> elements, std::size_t values_each, bool array) {
    if (!elements) return {};
    return {true, array, *elements * values_each};
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::string_view>> split_samples(std::string_view samples) {
  const auto wrong = [] { return fail(Errc::malformed, "samples", "are not Samples"); };
  Cursor cursor(samples);
  const auto fields = cursor.array();
  if (!fields || *fields < 3 || !cursor.skip() || !cursor.skip()) return wrong();
  const auto count = cursor.array();
  if (!count || *count > samples.size()) return wrong();
  std::vector<std::string_view> records;
  records.reserve(*count);
  while (records.size() < *count) {
    const std::size_t begin = cursor.at();
    if (!cursor.skip()) return wrong();
    records.push_back(samples.substr(begin, cursor.at() - begin));
  }
  return records;
}

Result<Record> decode_record(std::string_view bytes, const Limits& limits) {
  WATTLE_TRY(auto message, decode(encode_samples(std::vector<EncodedRecord>{{{}, std::string(bytes)}}), limits));
  auto* samples = std::get_if<Samples>(&message);
  if (samples == nullptr || samples->records.size() != 1) return fail(Errc::malformed, "record", "is not one record");
  return std::move(samples->records.front());
}

}  // namespace wattle::wire
