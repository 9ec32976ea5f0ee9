#include "common/wire/reader.hpp"

#include <array>
#include <cassert>

namespace wattle::wire {
namespace {

constexpr std::size_t kMaxDepth = 32;  // maximum of Limits::depth

}  // namespace

bool Reader::text(Value& value, std::uint64_t size) {
  if (size > limits_.body_bytes) return refuse("a string is too long");
  if (bytes_.size() - at_ < size) return refuse(kTooEarly);
  value.type = ValueType::text;
  value.text = bytes_.substr(at_, size);
  at_ += size;
  return true;
}

bool Reader::container(Value& value, ValueType type, std::uint64_t size) {
  announced_ += type == ValueType::map ? 2 * size : size;
  if (size > limits_.elements) return refuse("an array or map has too many elements");
  if (announced_ > bytes_.size()) return refuse("announces more elements than bytes");
  if (++depth_ > limits_.depth) return refuse("nested too deep");
  value.type = type;
  value.size = static_cast<std::uint32_t>(size);
  return true;
}

bool Reader::next(Value& value) {
  if (at_ >= bytes_.size()) return refuse(kTooEarly);
  const auto first = static_cast<unsigned char>(bytes_[at_++]);
  if (first <= 0x7f || first >= 0xe0) {
    value.negative = static_cast<std::int8_t>(first);
    value.positive = first;
    value.type = first <= 0x7f ? ValueType::positive : ValueType::negative;
    return true;
  }
  if (first <= 0x8f) return container(value, ValueType::map, first & 15U);
  if (first <= 0x9f) return container(value, ValueType::array, first & 15U);
  if (first <= 0xbf) return text(value, first & 31U);
  switch (first) {
    case 0xc0:
      value.type = ValueType::nil;
      return true;
    case 0xc2:
    case 0xc3:
      value.type = ValueType::boolean;
      value.boolean = first == 0xc3;
      return true;
    case 0xca:
      value.type = ValueType::real;
      if (!number<4>(value.positive)) return false;
      value.real = std::bit_cast<float>(static_cast<std::uint32_t>(value.positive));
      return true;
    case 0xcb:
      value.type = ValueType::real;
      if (!number<8>(value.positive)) return false;
      value.real = std::bit_cast<double>(value.positive);
      return true;
    case 0xcc:
      return positive<1>(value);
    case 0xcd:
      return positive<2>(value);
    case 0xce:
      return positive<4>(value);
    case 0xcf:
      return positive<8>(value);
    case 0xd0:
      return integer<1, std::int8_t>(value);
    case 0xd1:
      return integer<2, std::int16_t>(value);
    case 0xd2:
      return integer<4, std::int32_t>(value);
    case 0xd3:
      return integer<8, std::int64_t>(value);
    case 0xd9:
      return text<1>(value);
    case 0xda:
      return text<2>(value);
    case 0xdb:
      return text<4>(value);
    case 0xdc:
      return container<2>(value, ValueType::array);
    case 0xdd:
      return container<4>(value, ValueType::array);
    case 0xde:
      return container<2>(value, ValueType::map);
    case 0xdf:
      return container<4>(value, ValueType::map);
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return refuse("binary values are not supported");
    case 0xc1:
      return refuse("not msgpack");
    default:
      return refuse("extension values are not supported");
  }
}

bool Reader::skip() {
  assert(limits_.depth <= kMaxDepth);
  std::array<std::uint64_t, kMaxDepth + 1> left{};  // remaining values by depth, starting here
  const std::size_t here = depth_;
  left[0] = 1;
  Value value;
  for (;;) {
    while (left[depth_ - here] == 0) {
      if (depth_ == here) return true;
      leave();
    }
    --left[depth_ - here];
    if (!next(value)) return false;
    if (value.type == ValueType::array) left[depth_ - here] = value.size;
    if (value.type == ValueType::map) left[depth_ - here] = 2 * std::uint64_t{value.size};
  }
}

}  // namespace wattle::wire
