// json iterator: iterators over the elements and members of JSON values; use common/json/value.hpp.
// Threads  values; no shared state
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "common/json/ref.hpp"

namespace wattle {

// Iterates over elements or members. A value that is neither an array nor an object is one element; null has none.
template <class Json, class Member>
class JsonIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<Json>;
  using difference_type = std::ptrdiff_t;
  using pointer = Json*;
  using reference = Json&;

  JsonIterator() = default;
  explicit JsonIterator(Json* element) : element_(element) {}
  explicit JsonIterator(Member* const* member) : member_(member) {}
  operator JsonIterator<const Json, Member>() const {
    return member_ != nullptr ? JsonIterator<const Json, Member>(member_) : JsonIterator<const Json, Member>(element_);
  }
  Json& operator*() const { return member_ != nullptr ? (*member_)->value : *element_; }
  Json* operator->() const { return &**this; }
  Json& operator[](difference_type n) const { return *(*this + n); }
  const std::string& key() const { return (*member_)->key; }
  Json& value() const { return **this; }
  JsonIterator& operator+=(difference_type n) {
    if (member_ != nullptr)
      member_ += n;
    else
      element_ += n;
    return *this;
  }
  JsonIterator& operator-=(difference_type n) { return *this += -n; }
  JsonIterator& operator++() { return *this += 1; }
  JsonIterator& operator--() { return *this += -1; }
  JsonIterator operator++(int) {
    JsonIterator was = *this;
    ++*this;
    return was;
  }
  friend JsonIterator operator+(JsonIterator at, difference_type n) { return at += n; }
  friend JsonIterator operator-(JsonIterator at, difference_type n) { return at += -n; }
  friend difference_type operator-(const JsonIterator& a, const JsonIterator& b) {
    return a.member_ != nullptr ? a.member_ - b.member_ : a.element_ - b.element_;
  }
  friend bool operator==(const JsonIterator& a, const JsonIterator& b) = default;
  friend bool operator<(const JsonIterator& a, const JsonIterator& b) { return b - a > 0; }

 private:
  template <JsonOrder>
  friend class BasicJson;
  Json* element_ = nullptr;
  Member* const* member_ = nullptr;
};

// Member of an object.
template <class Json, class Iterator>
class JsonItem {
 public:
  explicit JsonItem(Iterator at) : at_(at) {}
  const std::string& key() const { return at_.key(); }
  Json& value() const { return *at_; }
  template <std::size_t index>
  auto& get() const {
    if constexpr (index == 0)
      return key();
    else
      return value();
  }

 private:
  template <class, class>
  friend class JsonItems;
  Iterator at_;
};

// for (const auto& [key, value] : object.items())
template <class Json, class Iterator>
class JsonItems {
 public:
  using Item = JsonItem<Json, Iterator>;
  class Each {
   public:
    explicit Each(Iterator at) : item_(at) {}
    const Item& operator*() const { return item_; }
    const Item* operator->() const { return &item_; }
    Each& operator++() {
      ++item_.at_;
      return *this;
    }
    bool operator!=(const Each& other) const { return item_.at_ != other.item_.at_; }

   private:
    Item item_;
  };
  JsonItems(Iterator from, Iterator to) : from_(from), to_(to) {}
  Each begin() const { return Each(from_); }
  Each end() const { return Each(to_); }

 private:
  Iterator from_, to_;
};

}  // namespace wattle

template <class Json, class Iterator>
struct std::tuple_size<wattle::JsonItem<Json, Iterator>> : std::integral_constant<std::size_t, 2> {};
template <class Json, class Iterator>
struct std::tuple_element<0, wattle::JsonItem<Json, Iterator>> {
  using type = const std::string&;
};
template <class Json, class Iterator>
struct std::tuple_element<1, wattle::JsonItem<Json, Iterator>> {
  using type = Json&;
};
