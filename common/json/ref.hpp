// json ref: the source from which a JSON value is built, as in {{"key", 1}, {"other", text}}; use
// common/json/value.hpp.
// Cost     refers to its source and has no destructor, so a list of literals compiles to a few stores
// Threads  values; no shared state
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wattle {

enum class JsonOrder { sorted, added };
template <JsonOrder order>
class BasicJson;
using SortedJson = BasicJson<JsonOrder::sorted>;
using OrderedJson = BasicJson<JsonOrder::added>;

// Refers to the source of a value: {{"key", 1}, {"other", text}} is a list of these. Use it only as a parameter,
// because it refers to temporaries of the caller's expression.
class JsonRef {
 public:
  JsonRef() : kind_(Kind::null), natural_(0) {}
  JsonRef(std::nullptr_t) : JsonRef() {}
  JsonRef(bool value) : kind_(Kind::boolean), natural_(value ? 1 : 0) {}
  JsonRef(int value) : kind_(Kind::integer), integer_(value) {}
  JsonRef(long value) : kind_(Kind::integer), integer_(value) {}
  JsonRef(long long value) : kind_(Kind::integer), integer_(value) {}
  JsonRef(unsigned value) : kind_(Kind::natural), natural_(value) {}
  JsonRef(unsigned long value) : kind_(Kind::natural), natural_(value) {}
  JsonRef(unsigned long long value) : kind_(Kind::natural), natural_(value) {}
  JsonRef(short value) : JsonRef(static_cast<int>(value)) {}
  JsonRef(unsigned short value) : JsonRef(static_cast<unsigned>(value)) {}
  JsonRef(unsigned char value) : JsonRef(static_cast<unsigned>(value)) {}
  JsonRef(double value) : kind_(Kind::real), real_(value) {}
  JsonRef(float value) : JsonRef(static_cast<double>(value)) {}
  JsonRef(const char* text) : JsonRef(std::string_view(text)) {}
  JsonRef(std::string_view text) : kind_(Kind::text), size_(text.size()), from_(text.data()) {}
  JsonRef(const std::string& text) : JsonRef(std::string_view(text)) {}
  JsonRef(const void*) = delete;
  JsonRef(const SortedJson& value) : kind_(Kind::sorted), from_(&value) {}
  JsonRef(const OrderedJson& value) : kind_(Kind::added), from_(&value) {}
  JsonRef(SortedJson&& value) : kind_(Kind::sorted), moves_(true), from_(&value) {}
  JsonRef(OrderedJson&& value) : kind_(Kind::added), moves_(true), from_(&value) {}
  JsonRef(std::initializer_list<JsonRef> list) : kind_(Kind::list), size_(list.size()) { from_ = std::data(list); }
  template <class T>
  JsonRef(const std::vector<T>& list) : kind_(Kind::range), each_(&JsonRef::each_of<std::vector<T>>), from_(&list) {}
  template <class T, std::size_t count>
  JsonRef(const std::array<T, count>& list)
      : kind_(Kind::range), each_(&JsonRef::each_of<std::array<T, count>>), from_(&list) {}
  template <class T, class Less>
  JsonRef(const std::set<T, Less>& list)
      : kind_(Kind::range), each_(&JsonRef::each_of<std::set<T, Less>>), from_(&list) {}
  template <class First, class Second>
  JsonRef(const std::pair<First, Second>& pair)
      : kind_(Kind::range), each_(&JsonRef::both_of<std::pair<First, Second>>), from_(&pair) {}
  template <class T, class Less>
  JsonRef(const std::map<std::string, T, Less>& members)
      : kind_(Kind::members), each_(&JsonRef::each_member<std::map<std::string, T, Less>>), from_(&members) {}

 private:
  template <JsonOrder order>
  friend class BasicJson;
  enum class Kind : std::uint8_t { null, boolean, integer, natural, real, text, sorted, added, list, range, members };
  using Take = void (*)(void* into, std::string_view key, const JsonRef& value);
  using Each = void (*)(const void* from, void* into, Take take);

  template <class List>
  static void each_of(const void* from, void* into, Take take) {
    for (const auto& item : *static_cast<const List*>(from)) take(into, {}, JsonRef(item));
  }
  template <class Pair>
  static void both_of(const void* from, void* into, Take take) {
    take(into, {}, JsonRef(static_cast<const Pair*>(from)->first));
    take(into, {}, JsonRef(static_cast<const Pair*>(from)->second));
  }
  template <class Map>
  static void each_member(const void* from, void* into, Take take) {
    for (const auto& [key, value] : *static_cast<const Map*>(from)) take(into, key, JsonRef(value));
  }
  const JsonRef* items() const { return static_cast<const JsonRef*>(from_); }
  // Returns whether this is a {"text", value} pair; a list of pairs makes an object.
  bool is_pair() const;
  bool is_members() const;

  Kind kind_;
  bool moves_ = false;
  union {
    std::int64_t integer_;
    std::uint64_t natural_;
    double real_;
    std::size_t size_;
    Each each_;
  };
  const void* from_ = nullptr;
};

}  // namespace wattle
