// pack_fields: packs and unpacks a value by one list of its fields, so that both directions have the same order.
// Use      a class has `template <class V> void fields(V& v)`, which calls v(a, b, ...), v.choice(enum, values) and
//          v.not_negative(a, b, ...); its pack() and unpack() call pack_fields() and unpack_fields()
// Format   that of packed.hpp: a number, a flag, an enum and a time are one word; an optional is a flag and a value; a
//          list or map is its size and its elements; an array is its elements
// Errors   the reader's; it refuses a flag or enum out of range, a negative optional, and a count that its type cannot
//          hold
// Threads  values
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/clock.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

class FieldWriter {
 public:
  explicit FieldWriter(PackWriter& out) : out_(out) {}
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  template <class... T>
  void not_negative(const T&... values) {
    (put(values), ...);
  }
  template <class T>
  void choice(T value, std::size_t) {
    out_.word(static_cast<std::uint64_t>(value));
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      out_.real(value);
    } else if constexpr (std::is_integral_v<T>) {
      out_.word(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.text(value);
    } else if constexpr (std::is_same_v<T, WallTime>) {
      out_.word(static_cast<std::uint64_t>(to_ns(value)));
    } else if constexpr (requires { value.has_value(); }) {
      (*this)(value.has_value(), value.value_or(typename T::value_type{}));
    } else if constexpr (requires { value.pack(out_); }) {
      value.pack(out_);
    } else if constexpr (requires { typename T::mapped_type; }) {
      put(value.size());
      for (const auto& [key, each] : value) (*this)(key, each);
    } else if constexpr (requires { value.begin(); }) {
      if constexpr (!requires { std::tuple_size<T>::value; }) put(value.size());
      for (const auto& each : value) put(each);
    } else {
      const_cast<T&>(value).fields(*this);  // changes nothing, because a writer takes constants
    }
  }

  PackWriter& out_;
};

class FieldReader {
 public:
  explicit FieldReader(PackReader& in) : in_(in) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  template <class... T>
  void not_negative(T&... values) {
    ((get(values), check(values)), ...);
  }
  template <class T>
  void choice(T& value, std::size_t values) {
    const std::uint64_t word = in_.word();
    if (word >= values) in_.refuse();
    value = static_cast<T>(in_.ok() ? word : 0);
  }

 private:
  void check(double value) {
    if (value < 0) in_.refuse();
  }
  template <class List>
  void check(const List& values) {
    for (const double value : values) check(value);
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      value = in_.real();
    } else if constexpr (std::is_same_v<T, bool>) {
      const std::uint64_t word = in_.word();
      if (word > 1) in_.refuse();
      value = word == 1;
    } else if constexpr (std::is_integral_v<T>) {
      const std::uint64_t word = in_.word();
      if constexpr (std::is_unsigned_v<T>)
        if (!std::in_range<T>(word)) in_.refuse();
      value = static_cast<T>(word);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = in_.text();
    } else if constexpr (std::is_same_v<T, WallTime>) {
      value = wall_from_ns(static_cast<std::int64_t>(in_.word()));
    } else if constexpr (requires { value.has_value(); }) {
      bool there = false;
      typename T::value_type read{};
      (*this)(there, read);
      if constexpr (std::is_floating_point_v<typename T::value_type>) check(read);
      value = there ? T(read) : T();
    } else if constexpr (requires { value.unpack(in_); }) {
      value.unpack(in_);
    } else if constexpr (requires { typename T::mapped_type; }) {
      for (std::size_t left = in_.count(16); left > 0 && in_.ok(); --left) {
        typename T::key_type key;
        get(key);
        get(value[std::move(key)]);
      }
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      for (auto& each : value) get(each);
    } else if constexpr (requires { value.begin(); }) {
      for (std::size_t left = in_.count(8); left > 0 && in_.ok(); --left) get(value.emplace_back());
    } else {
      value.fields(*this);
    }
  }

  PackReader& in_;
};

template <class T>
void pack_fields(PackWriter& out, const T& value) {
  FieldWriter writer(out);
  const_cast<T&>(value).fields(writer);  // as above
}

// The value stays as it was if the reader refuses.
template <class T>
void unpack_fields(PackReader& in, T& value) {
  T read{};
  FieldReader reader(in);
  read.fields(reader);
  if (in.ok()) value = std::move(read);
}

}  // namespace wattle::placement
