#include "common/json/value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "common/json/object.hpp"

namespace wattle {
namespace {

template <class T>
T clamped(double value) {
  // The limits of a wide type round up as a double, so the upper one is excluded.
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

bool same(std::int64_t a, std::uint64_t b) { return a >= 0 && static_cast<std::uint64_t>(a) == b; }

}  // namespace

bool JsonRef::is_pair() const {
  const auto is_text = [](const JsonRef& ref) {
    return ref.kind_ == Kind::text ||
           (ref.kind_ == Kind::sorted && static_cast<const SortedJson*>(ref.from_)->is_string()) ||
           (ref.kind_ == Kind::added && static_cast<const OrderedJson*>(ref.from_)->is_string());
  };
  switch (kind_) {
    case Kind::list:
      return size_ == 2 && is_text(items()[0]);
    case Kind::sorted: {
      const auto& value = *static_cast<const SortedJson*>(from_);
      return value.is_array() && value.size() == 2 && value[0].is_string();
    }
    case Kind::added: {
      const auto& value = *static_cast<const OrderedJson*>(from_);
      return value.is_array() && value.size() == 2 && value[0].is_string();
    }
    case Kind::range: {
      struct Seen {
        bool (*is_text)(const JsonRef&);
        std::size_t count = 0;
        bool text = false;
      } seen{is_text};
      each_(from_, &seen, [](void* into, std::string_view, const JsonRef& value) {
        auto& found = *static_cast<Seen*>(into);
        if (found.count++ == 0) found.text = found.is_text(value);
      });
      return seen.count == 2 && seen.text;
    }
    default:
      return false;
  }
}

template <JsonOrder order>
BasicJson<order>::BasicJson(const BasicJson& other) : kind_(other.kind_), natural_(other.natural_) {
  switch (kind_) {
    case JsonKind::string:
      string_ = new std::string(*other.string_);
      break;
    case JsonKind::array:
      array_ = new Array(*other.array_);
      break;
    case JsonKind::object:
      object_ = new Object(*other.object_);
      break;
    default:
      break;
  }
}

template <JsonOrder order>
BasicJson<order>::BasicJson(JsonKind kind) : kind_(kind), natural_(0) {
  if (kind == JsonKind::array) array_ = new Array;
  if (kind == JsonKind::object) object_ = new Object;
}

template <JsonOrder order>
BasicJson<order>::BasicJson(const JsonRef& from) : natural_(0) {
  assign(from);
}

template <JsonOrder order>
BasicJson<order>::BasicJson(std::initializer_list<JsonRef> list) : natural_(0) {
  assign_list(std::data(list), list.size(), true);
}

template <JsonOrder order>
BasicJson<order>::BasicJson(std::string text) : kind_(JsonKind::string), string_(new std::string(std::move(text))) {}
template <JsonOrder order>
BasicJson<order>::BasicJson(std::string_view text) : kind_(JsonKind::string), string_(new std::string(text)) {}
template <JsonOrder order>
BasicJson<order>::BasicJson(const char* text) : BasicJson(std::string_view(text)) {}

template <JsonOrder order>
BasicJson<order> BasicJson<order>::array() {
  return BasicJson(JsonKind::array);
}
template <JsonOrder order>
BasicJson<order> BasicJson<order>::object() {
  return BasicJson(JsonKind::object);
}
template <JsonOrder order>
BasicJson<order> BasicJson<order>::array(std::initializer_list<JsonRef> list) {
  BasicJson out;
  out.assign_list(std::data(list), list.size(), false);
  return out;
}
template <JsonOrder order>
BasicJson<order> BasicJson<order>::object(std::initializer_list<JsonRef> members) {
  if (members.size() == 0) return object();
  BasicJson out(members);
  if (!out.is_object()) out.fail_kind("object");
  return out;
}

template <JsonOrder order>
void BasicJson<order>::destroy() noexcept {
  if (kind_ == JsonKind::string) delete string_;
  if (kind_ == JsonKind::array) delete array_;
  if (kind_ == JsonKind::object) delete object_;
  kind_ = JsonKind::null;
}

// Builds the value from `from`. Call only on a null value.
template <JsonOrder order>
void BasicJson<order>::assign(const JsonRef& from) {
  using Kind = JsonRef::Kind;
  switch (from.kind_) {
    case Kind::null:
      return;
    case Kind::boolean:
      kind_ = JsonKind::boolean;
      natural_ = from.natural_;
      return;
    case Kind::integer:
      kind_ = JsonKind::integer;
      integer_ = from.integer_;
      return;
    case Kind::natural:
      kind_ = JsonKind::natural;
      natural_ = from.natural_;
      return;
    case Kind::real:
      kind_ = JsonKind::real;
      real_ = from.real_;
      return;
    case Kind::text:
      string_ = new std::string(static_cast<const char*>(from.from_), from.size_);
      kind_ = JsonKind::string;
      return;
    case Kind::sorted:
    case Kind::added:
      if ((from.kind_ == Kind::sorted) == (order == JsonOrder::sorted)) {
        // JsonRef binds a movable value by &&, so the value itself is not const.
        auto* other = static_cast<BasicJson*>(const_cast<void*>(from.from_));
        BasicJson taken = from.moves_ ? BasicJson(std::move(*other)) : BasicJson(std::as_const(*other));
        swap(taken);
      } else if (from.kind_ == Kind::sorted) {
        assign_other(*static_cast<const SortedJson*>(from.from_));
      } else {
        assign_other(*static_cast<const OrderedJson*>(from.from_));
      }
      return;
    case Kind::list:
      return assign_list(from.items(), from.size_, true);
    case Kind::range:
      *this = array();
      from.each_(from.from_, this, [](void* into, std::string_view, const JsonRef& value) {
        static_cast<BasicJson*>(into)->array_->emplace_back(value);
      });
      return;
    case Kind::members:
      *this = object();
      from.each_(from.from_, this, [](void* into, std::string_view key, const JsonRef& value) {
        static_cast<BasicJson*>(into)->emplace(key, value);
      });
      return;
  }
}

// A list of pairs becomes an object; the first of pairs with the same key counts.
template <JsonOrder order>
void BasicJson<order>::assign_list(const JsonRef* items, std::size_t count, bool may_be_object) {
  const bool members =
      may_be_object && std::all_of(items, items + count, [](const JsonRef& each) { return each.is_pair(); });
  BasicJson built(members ? JsonKind::object : JsonKind::array);
  if (!members) built.array_->reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonRef& each = items[i];
    if (!members) {
      built.array_->emplace_back(each);
    } else if (each.kind_ == JsonRef::Kind::list && each.items()[0].kind_ == JsonRef::Kind::text) {
      const JsonRef& key = each.items()[0];
      built.emplace(std::string_view(static_cast<const char*>(key.from_), key.size_), each.items()[1]);
    } else {
      BasicJson pair(each);
      built.emplace(pair[0].string(), std::move(pair[1]));
    }
  }
  swap(built);
}

template <JsonOrder order>
template <class Other>
void BasicJson<order>::assign_other(const Other& other) {
  BasicJson built;
  if (other.is_object()) {
    built = object();
    for (const auto& [key, value] : other.items()) built.emplace(key, value);
  } else if (other.is_array()) {
    built = array();
    for (const Other& each : other) built.array_->emplace_back(JsonRef(each));
  } else if (other.is_string()) {
    built = BasicJson(other.string());
  } else {
    built.kind_ = other.kind_;
    built.natural_ = other.natural_;
  }
  swap(built);
}

template <JsonOrder order>
const char* BasicJson<order>::type_name() const {
  switch (kind_) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "boolean";
    case JsonKind::string:
      return "string";
    case JsonKind::array:
      return "array";
    case JsonKind::object:
      return "object";
    case JsonKind::discarded:
      return "discarded";
    default:
      return "number";
  }
}

template <JsonOrder order>
void BasicJson<order>::fail_kind(const char* wanted) const {
  throw JsonError("must be " + std::string(wanted) + ", but is " + type_name());
}

template <JsonOrder order>
const std::string& BasicJson<order>::string() const {
  if (!is_string()) fail_kind("string");
  return *string_;
}

template <JsonOrder order>
template <class T>
void BasicJson<order>::get_number(T& out, bool or_boolean) const {
  switch (kind_) {
    case JsonKind::integer:
      if constexpr (std::is_floating_point_v<T>)
        out = static_cast<T>(integer_);
      else
        out = std::in_range<T>(integer_) ? static_cast<T>(integer_)
              : integer_ < 0             ? std::numeric_limits<T>::lowest()
                                         : std::numeric_limits<T>::max();
      return;
    case JsonKind::natural:
      if constexpr (std::is_floating_point_v<T>)
        out = static_cast<T>(natural_);
      else
        out = std::in_range<T>(natural_) ? static_cast<T>(natural_) : std::numeric_limits<T>::max();
      return;
    case JsonKind::real:
      if constexpr (std::is_same_v<T, double>)
        out = real_;
      else
        out = clamped<T>(real_);
      return;
    case JsonKind::boolean:
      if (!or_boolean) fail_kind("number");
      out = static_cast<T>(natural_);
      return;
    default:
      fail_kind("number");
  }
}

template <JsonOrder order>
void BasicJson<order>::get_to(bool& out) const {
  if (!is_boolean()) fail_kind("boolean");
  out = natural_ != 0;
}
template <JsonOrder order>
void BasicJson<order>::get_to(int& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(unsigned& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(long& out) const {
  get_number(out, false);
}
template <JsonOrder order>
void BasicJson<order>::get_to(unsigned long& out) const {
  get_number(out, false);
}
template <JsonOrder order>
void BasicJson<order>::get_to(long long& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(unsigned long long& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(unsigned short& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(unsigned char& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(float& out) const {
  get_number(out, true);
}
template <JsonOrder order>
void BasicJson<order>::get_to(double& out) const {
  get_number(out, false);
}

template <JsonOrder order>
bool BasicJson<order>::equals(const BasicJson& other) const {
  if (is_number() && other.is_number()) {
    if (kind_ == JsonKind::real || other.kind_ == JsonKind::real) return get<double>() == other.get<double>();
    if (kind_ == other.kind_) return natural_ == other.natural_;
    return kind_ == JsonKind::integer ? same(integer_, other.natural_) : same(other.integer_, natural_);
  }
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return natural_ == other.natural_;
    case JsonKind::string:
      return *string_ == *other.string_;
    case JsonKind::array:
      return *array_ == *other.array_;
    case JsonKind::object:
      return std::equal(object_->members.begin(), object_->members.end(), other.object_->members.begin(),
                        other.object_->members.end(),
                        [](const Member* a, const Member* b) { return a->key == b->key && a->value == b->value; });
    default:
      return false;
  }
}

template <JsonOrder order>
std::ostream& BasicJson<order>::print(std::ostream& out) const {
  return out << dump();
}

template class BasicJson<JsonOrder::sorted>;
template class BasicJson<JsonOrder::added>;

}  // namespace wattle
