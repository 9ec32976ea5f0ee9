// reader: reads the values of msgpack bytes one after another. Copies nothing, allocates nothing, does not recurse.
// Source   msgpack's specification (github.com/msgpack/msgpack/blob/master/spec.md), "Formats"
// Errors   false, with the reason in problem(): the bytes end too early, or exceed a limit of Limits. An array
//          announces its size before its elements, and each needs at least one byte: the sum of all announced sizes may
//          not exceed the bytes
// Threads  single owner
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "common/wire/codec.hpp"

namespace wattle::wire {

enum class ValueType : std::uint8_t { nil, boolean, positive, negative, real, text, array, map };

struct Value {
  ValueType type = ValueType::nil;
  bool boolean = false;
  std::uint32_t size = 0;      // elements of an array, pairs of a map
  std::uint64_t positive = 0;  // zero or positive
  std::int64_t negative = 0;   // negative
  double real = 0;
  std::string_view text;
};

class Reader {
 public:
  Reader(std::string_view bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  // Reads a value; for an array or map only its start. After reading the elements, call leave().
  bool next(Value& value);
  void leave() { --depth_; }
  // Takes a nil; returns false if the next value is not nil, and leaves it for next().
  bool take_nil() {
    constexpr char kNil = '\xc0';
    if (at_ >= bytes_.size() || bytes_[at_] != kNil) return false;
    ++at_;
    return true;
  }
  // Take a number of the most usual encodings; return false if the next value has another one, and leave it for next().
  bool take_positive(std::uint64_t& value) {
    if (at_ >= bytes_.size()) return false;
    const auto first = static_cast<unsigned char>(bytes_[at_]);
    if (first > 0x7f)
      return first == 0xcc   ? take_behind<1>(value)
             : first == 0xcd ? take_behind<2>(value)
             : first == 0xce ? take_behind<4>(value)
                             : first == 0xcf && take_behind<8>(value);
    value = first;
    ++at_;
    return true;
  }
  bool take_real(double& value) {
    constexpr char kDouble = '\xcb';
    std::uint64_t bits = 0;
    if (at_ >= bytes_.size() || bytes_[at_] != kDouble || !take_behind<8>(bits)) return false;
    value = std::bit_cast<double>(bits);
    return true;
  }
  // Skips a value with its whole content.
  bool skip();
  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }
  const char* problem() const { return problem_; }

 private:
  bool refuse(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    return false;
  }
  template <unsigned kWidth>
  bool number(std::uint64_t& value) {
    if (bytes_.size() - at_ < kWidth) return refuse(kTooEarly);
    const char* const from = bytes_.data() + at_;
    std::uint64_t read = 0;  // a local value, so that it is one load
    for (unsigned i = 0; i < kWidth; ++i) read = read << 8 | static_cast<unsigned char>(from[i]);
    at_ += kWidth;
    value = read;
    return true;
  }
  template <unsigned kWidth>
  bool take_behind(std::uint64_t& value) {
    if (bytes_.size() - at_ <= kWidth) return false;
    ++at_;
    return number<kWidth>(value);
  }
  template <unsigned kWidth>
  bool positive(Value& value) {
    value.type = ValueType::positive;
    return number<kWidth>(value.positive);
  }
  template <unsigned kWidth, class Signed>
  bool integer(Value& value) {
    if (!number<kWidth>(value.positive)) return false;
    value.negative = static_cast<Signed>(value.positive);
    value.type = value.negative < 0 ? ValueType::negative : ValueType::positive;
    return true;
  }
  template <unsigned kWidth>
  bool text(Value& value) {
    std::uint64_t size = 0;
    return number<kWidth>(size) && text(value, size);
  }
  bool text(Value& value, std::uint64_t size);
  template <unsigned kWidth>
  bool container(Value& value, ValueType type) {
    std::uint64_t size = 0;
    return number<kWidth>(size) && container(value, type, size);
  }
  bool container(Value& value, ValueType type, std::uint64_t size);

  static constexpr const char* kTooEarly = "ends too early";
  std::string_view bytes_;
  const Limits& limits_;
  std::size_t at_ = 0;
  std::size_t announced_ = 0;
  std::size_t depth_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace wattle::wire
