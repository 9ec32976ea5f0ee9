// any_message: fills every field of a wire message through the field list of the codec.
// Gives    with Counting, the same message each time, with different neighbours (golden bytes); with Drawing, a random
//          one
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "common/wire/fields.hpp"
#include "common/wire/traits.hpp"

namespace wattle::wire::test {

// Never change it: the bytes under tests/fixtures/wire come from it.
class Counting {
 public:
  std::uint64_t u64() { return (next() << 33U) + n_; }
  std::int64_t i64() { return n_ % 2 == 0 ? -static_cast<std::int64_t>(next()) : static_cast<std::int64_t>(next()); }
  double real() { return static_cast<double>(next()) + 0.25; }
  bool flag() { return next() % 2 == 0; }
  std::string text() { return "text \xC3\xA9 " + std::to_string(next()); }
  std::size_t count() { return 2; }
  bool present() { return next() % 3 != 0; }
  std::uint64_t enumerator(std::uint64_t of) { return next() % of; }

 private:
  std::uint64_t next() { return ++n_; }
  std::uint64_t n_ = 0;
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}
  std::uint64_t u64() {
    const std::uint64_t bits = random_();
    return bits >> (random_() % 64);
  }
  std::int64_t i64() { return static_cast<std::int64_t>(random_()) >> (random_() % 64); }
  double real() {
    switch (random_() % 4) {
      case 0:
        return static_cast<double>(i64());
      case 1:
        return std::numeric_limits<double>::max();
      case 2:
        return -std::numeric_limits<double>::denorm_min();
      default:
        return std::ldexp(static_cast<double>(i64()), static_cast<int>(random_() % 200) - 100);
    }
  }
  bool flag() { return random_() % 2 == 0; }
  std::string text() {
    static constexpr const char* kPieces[] = {
        "a", "node-1", "\n", "\"", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x90\xA8"};
    std::string text;
    for (std::uint64_t left = random_() % 12; left > 0; --left) text += kPieces[random_() % 7];
    if (random_() % 10 == 0) text += std::string(1, '\0');
    return text;
  }
  std::size_t count() { return random_() % 4; }
  bool present() { return flag(); }
  std::uint64_t enumerator(std::uint64_t of) { return random_() % of; }

 private:
  std::mt19937_64 random_;
};

template <class Source>
class Fill {
 public:
  explicit Fill(Source& source) : source_(source) {}

  template <class T>
  void operator()(const char*, T& value) {
    put(value);
  }

  template <class T>
  void put(T& value) {
    if constexpr (is_optional<T>::value) {
      value.reset();
      if (source_.present()) put(value.emplace());
    } else if constexpr (is_vector<T>::value) {
      value.resize(source_.count());
      for (auto& item : value) put(item);
    } else if constexpr (is_map<T>::value) {
      for (std::size_t left = source_.count(); left > 0; --left) {
        const std::string key = source_.text();
        put(value[key]);
      }
    } else if constexpr (std::is_same_v<T, EnergySource>) {
      value = static_cast<T>(source_.enumerator(6));
    } else if constexpr (std::is_same_v<T, WorkloadKind>) {
      value = static_cast<T>(source_.enumerator(4));
    } else if constexpr (std::is_same_v<T, ProbeKind>) {
      value = static_cast<T>(source_.enumerator(3));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = source_.flag();
    } else if constexpr (std::is_same_v<T, double>) {
      value = source_.real();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      value = source_.u64();
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      value = source_.i64();
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = source_.text();
    } else {
      wire::fields(*this, value);
    }
  }

 private:
  Source& source_;
};

// The message of kind `index`, filled from the source.
template <class Source, std::size_t Index = 0>
Message message_of(std::size_t index, Source source) {
  if constexpr (Index < std::variant_size_v<Message>) {
    if (index != Index) return message_of<Source, Index + 1>(index, source);
    std::variant_alternative_t<Index, Message> value;
    Fill<Source> fill(source);
    fill.put(value);
    return value;
  } else {
    return {};
  }
}

inline constexpr std::size_t kKinds = std::variant_size_v<Message>;

}  // namespace wattle::wire::test
