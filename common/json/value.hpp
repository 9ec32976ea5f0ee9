// json value: JSON documents as values, without a template library in the header.
// Types    SortedJson sorts the members of objects by key; OrderedJson keeps the order in which they were added
// Gives    building ({{"key", value}, ...}), reading (find, at, value, get), writing (dump) and parsing within
//          JsonLimits
// Errors   parse: malformed, out_of_range (a limit); other members throw JsonError if a value has another kind
// Cost     destructor, copy, comparison and dump recurse; parse bounds the depth, so received text cannot make them
//          deep
// Threads  values; no shared state
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/iterator.hpp"
#include "common/json/ref.hpp"
#include "common/result.hpp"

namespace wattle {

enum class JsonKind : std::uint8_t { null, boolean, integer, natural, real, string, array, object, discarded };
enum class JsonText { utf8, ascii };  // ascii escapes every character above 0x7e

// Thrown if a value is not of the requested kind or does not have the requested member.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Limits of one parse. Each is checked before the value that exceeds it is built.
struct JsonLimits {
  std::size_t text_bytes;   // size of the text
  std::size_t built_bytes;  // heap of the parsed value, including growth of its lists
  std::size_t depth = 64;   // nesting of arrays and objects
};

// Called for each key, with the number of objects and arrays around it; false leaves the member out of the result. A
// member that is left out counts only towards the depth.
using JsonKeep = std::function<bool(std::size_t depth, std::string_view key)>;

template <JsonOrder order>
class BasicJson {
 public:
  struct Member;
  using exception = JsonError;
  using value_type = BasicJson;
  using reference = BasicJson&;
  using const_reference = const BasicJson&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = JsonIterator<BasicJson, Member>;
  using const_iterator = JsonIterator<const BasicJson, Member>;

  BasicJson() noexcept : natural_(0) {}
  BasicJson(const BasicJson& other);
  BasicJson(BasicJson&& other) noexcept : kind_(other.kind_), natural_(other.natural_) {
    other.kind_ = JsonKind::null;
    other.natural_ = 0;
  }
  BasicJson(const JsonRef& from);
  BasicJson(std::initializer_list<JsonRef> list);
  BasicJson(std::nullptr_t) noexcept : natural_(0) {}
  BasicJson(bool value) noexcept : kind_(JsonKind::boolean), natural_(value ? 1 : 0) {}
  BasicJson(int value) noexcept : kind_(JsonKind::integer), integer_(value) {}
  BasicJson(long value) noexcept : kind_(JsonKind::integer), integer_(value) {}
  BasicJson(long long value) noexcept : kind_(JsonKind::integer), integer_(value) {}
  BasicJson(unsigned value) noexcept : kind_(JsonKind::natural), natural_(value) {}
  BasicJson(unsigned long value) noexcept : kind_(JsonKind::natural), natural_(value) {}
  BasicJson(unsigned long long value) noexcept : kind_(JsonKind::natural), natural_(value) {}
  BasicJson(double value) noexcept : kind_(JsonKind::real), real_(value) {}
  BasicJson(float value) noexcept : BasicJson(static_cast<double>(value)) {}
  BasicJson(std::string text);
  BasicJson(std::string_view text);
  BasicJson(const char* text);
  BasicJson(const void*) = delete;
  template <class T>
  BasicJson(const std::vector<T>& list) : BasicJson(JsonRef(list)) {}
  template <class T, std::size_t count>
  BasicJson(const std::array<T, count>& list) : BasicJson(JsonRef(list)) {}
  template <class T, class Less>
  BasicJson(const std::set<T, Less>& list) : BasicJson(JsonRef(list)) {}
  template <class T, class Less>
  BasicJson(const std::map<std::string, T, Less>& members) : BasicJson(JsonRef(members)) {}
  ~BasicJson() { clear_to_null(); }
  BasicJson& operator=(BasicJson other) noexcept {
    swap(other);
    return *this;
  }
  // Copies the document into the other order.
  explicit BasicJson(const BasicJson<order == JsonOrder::sorted ? JsonOrder::added : JsonOrder::sorted>& other)
      : BasicJson(JsonRef(other)) {}

  static BasicJson array();
  static BasicJson array(std::initializer_list<JsonRef> list);
  static BasicJson object();
  static BasicJson object(std::initializer_list<JsonRef> members);

  static BasicJson discarded() { return BasicJson(JsonKind::discarded); }

  // Parses received text. `subject` names it in errors.
  static Result<BasicJson> parse(std::string_view text, const JsonLimits& limits, const std::string& subject = "JSON",
                                 const JsonKeep& keep = {});
  // Like parse, but returns a value of kind discarded on failure.
  static BasicJson read(std::string_view text, const JsonLimits& limits, const JsonKeep& keep = {});
  // Parses our own text, for example in tests, within 64 MiB of text, 1 GiB built and a depth of 64. Throws JsonError.
  static BasicJson parse(std::string_view text);

  // Writes compact text if indent is negative. Invalid UTF-8 becomes U+FFFD, and a number that JSON cannot express
  // becomes null.
  std::string dump(int indent = -1, JsonText text = JsonText::utf8) const;

  JsonKind kind() const noexcept { return kind_; }
  const char* type_name() const;
  bool is_discarded() const noexcept { return kind_ == JsonKind::discarded; }
  bool is_null() const noexcept { return kind_ == JsonKind::null; }
  bool is_boolean() const noexcept { return kind_ == JsonKind::boolean; }
  bool is_number() const noexcept { return kind_ >= JsonKind::integer && kind_ <= JsonKind::real; }
  bool is_number_integer() const noexcept { return kind_ == JsonKind::integer || kind_ == JsonKind::natural; }
  bool is_number_unsigned() const noexcept { return kind_ == JsonKind::natural; }
  bool is_number_float() const noexcept { return kind_ == JsonKind::real; }
  bool is_string() const noexcept { return kind_ == JsonKind::string; }
  bool is_array() const noexcept { return kind_ == JsonKind::array; }
  bool is_object() const noexcept { return kind_ == JsonKind::object; }
  bool is_structured() const noexcept { return is_array() || is_object(); }

  // Number of elements or members; null has none, and any other value counts as one.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  const std::string& string() const;
  void get_to(bool& out) const;
  void get_to(int& out) const;
  void get_to(unsigned& out) const;
  void get_to(long& out) const;
  void get_to(unsigned long& out) const;
  void get_to(long long& out) const;
  void get_to(unsigned long long& out) const;
  void get_to(unsigned short& out) const;
  void get_to(unsigned char& out) const;
  void get_to(float& out) const;
  void get_to(double& out) const;
  void get_to(std::string& out) const { out = string(); }
  void get_to(BasicJson& out) const { out = *this; }
  template <class T>
  void get_to(std::vector<T>& out) const;
  template <class T, class Less>
  void get_to(std::map<std::string, T, Less>& out) const;
  // Converts a number to the requested type, within the type's range.
  template <class T>
  T get() const {
    T out{};
    get_to(out);
    return out;
  }

  // Value of a member; null if the member does not exist or this is not an object.
  const BasicJson* member(std::string_view key) const;
  BasicJson* member(std::string_view key);
  bool contains(std::string_view key) const { return member(key) != nullptr; }
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }
  iterator find(std::string_view key);
  const_iterator find(std::string_view key) const;
  // Turns a null value into an object or an array.
  BasicJson& operator[](std::string_view key);
  BasicJson& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  BasicJson& operator[](const std::string& key) { return (*this)[std::string_view(key)]; }
  BasicJson& operator[](std::size_t index);
  BasicJson& operator[](int index) { return (*this)[static_cast<std::size_t>(index)]; }
  BasicJson& operator[](unsigned index) { return (*this)[static_cast<std::size_t>(index)]; }
  // Returns a null value if the member or element does not exist.
  const BasicJson& operator[](std::string_view key) const;
  const BasicJson& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  const BasicJson& operator[](const std::string& key) const { return (*this)[std::string_view(key)]; }
  const BasicJson& operator[](std::size_t index) const;
  const BasicJson& operator[](int index) const { return (*this)[static_cast<std::size_t>(index)]; }
  const BasicJson& operator[](unsigned index) const { return (*this)[static_cast<std::size_t>(index)]; }
  BasicJson& at(std::string_view key);
  const BasicJson& at(std::string_view key) const;
  BasicJson& at(std::size_t index);
  const BasicJson& at(std::size_t index) const;
  BasicJson& at(int index) { return at(static_cast<std::size_t>(index)); }
  const BasicJson& at(int index) const { return at(static_cast<std::size_t>(index)); }
  template <class T>
  T value(std::string_view key, const T& otherwise) const {
    const BasicJson* found = object_member(key);
    return found != nullptr ? found->get<T>() : otherwise;
  }
  std::string value(std::string_view key, const char* otherwise) const {
    const BasicJson* found = object_member(key);
    return found != nullptr ? found->string() : otherwise;
  }
  BasicJson& front() { return at(std::size_t{0}); }
  const BasicJson& front() const { return at(std::size_t{0}); }
  BasicJson& back() { return at(size() - 1); }
  const BasicJson& back() const { return at(size() - 1); }

  void push_back(const JsonRef& value);
  BasicJson& emplace_back(const JsonRef& value) {
    push_back(value);
    return back();
  }
  // Adds a member; keeps the value of an existing key.
  void emplace(std::string_view key, const JsonRef& value);
  // Copies the members of another object, replacing ours.
  void update(const BasicJson& other);
  std::size_t erase(std::string_view key);
  std::size_t erase(const char* key) { return erase(std::string_view(key)); }
  std::size_t erase(const std::string& key) { return erase(std::string_view(key)); }
  void erase(std::size_t index);
  iterator erase(iterator at);
  iterator erase(iterator from, iterator to);  // only arrays
  void clear();
  void reserve(std::size_t elements);  // only arrays
  void swap(BasicJson& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(natural_, other.natural_);
  }

  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  JsonItems<BasicJson, iterator> items();
  JsonItems<const BasicJson, const_iterator> items() const;

  // Numbers compare by value across kinds. A discarded value equals no value.
  friend bool operator==(const BasicJson& a, const BasicJson& b) { return a.equals(b); }
  friend std::ostream& operator<<(std::ostream& out, const BasicJson& value) { return value.print(out); }

 private:
  template <JsonOrder>
  friend class BasicJson;
  template <class Json>
  friend class JsonBuilder;
  template <class Json, class M>
  friend class JsonIterator;
  struct Object;
  using Array = std::vector<BasicJson>;

  explicit BasicJson(JsonKind kind);
  void clear_to_null() noexcept {
    if (kind_ >= JsonKind::string && kind_ <= JsonKind::object) destroy();
  }
  void destroy() noexcept;
  void assign(const JsonRef& from);
  void assign_list(const JsonRef* items, std::size_t count, bool may_be_object);
  template <class Other>
  void assign_other(const Other& other);
  const BasicJson* object_member(std::string_view key) const;
  bool equals(const BasicJson& other) const;
  std::ostream& print(std::ostream& out) const;
  template <class T>
  void get_number(T& out, bool or_boolean) const;
  void write(std::string& out, int indent, std::size_t spaces, JsonText text) const;
  [[noreturn]] void fail_kind(const char* wanted) const;

  JsonKind kind_ = JsonKind::null;
  union {
    std::int64_t integer_;
    std::uint64_t natural_;
    double real_;
    std::string* string_;
    Array* array_;
    Object* object_;
  };
};

template <JsonOrder order>
struct BasicJson<order>::Member {
  std::string key;
  BasicJson value;
};

template <JsonOrder order>
template <class T>
void BasicJson<order>::get_to(std::vector<T>& out) const {
  if (!is_array()) fail_kind("array");
  out.clear();
  for (const BasicJson& each : *this) out.push_back(each.get<T>());
}

template <JsonOrder order>
template <class T, class Less>
void BasicJson<order>::get_to(std::map<std::string, T, Less>& out) const {
  if (!is_object()) fail_kind("object");
  out.clear();
  for (const auto& [key, value] : items()) out.emplace(key, value.template get<T>());
}

extern template class BasicJson<JsonOrder::sorted>;
extern template class BasicJson<JsonOrder::added>;

}  // namespace wattle
