// Members of BasicJson that read and change arrays and objects.
#include "common/json/object.hpp"
#include "common/json/value.hpp"

namespace wattle {

template <JsonOrder order>
std::size_t BasicJson<order>::size() const {
  switch (kind_) {
    case JsonKind::null:
    case JsonKind::discarded:
      return 0;
    case JsonKind::array:
      return array_->size();
    case JsonKind::object:
      return object_->members.size();
    default:
      return 1;
  }
}

template <JsonOrder order>
const BasicJson<order>* BasicJson<order>::member(std::string_view key) const {
  if (!is_object()) return nullptr;
  Member* const* found = object_->find(key);
  return found == object_->members.data() + object_->members.size() ? nullptr : &(*found)->value;
}

template <JsonOrder order>
BasicJson<order>* BasicJson<order>::member(std::string_view key) {
  return const_cast<BasicJson*>(std::as_const(*this).member(key));
}

template <JsonOrder order>
const BasicJson<order>* BasicJson<order>::object_member(std::string_view key) const {
  if (!is_object()) fail_kind("object");
  return member(key);
}

template <JsonOrder order>
typename BasicJson<order>::iterator BasicJson<order>::find(std::string_view key) {
  return is_object() ? iterator(object_->find(key)) : end();
}
template <JsonOrder order>
typename BasicJson<order>::const_iterator BasicJson<order>::find(std::string_view key) const {
  return is_object() ? const_iterator(object_->find(key)) : end();
}

template <JsonOrder order>
BasicJson<order>& BasicJson<order>::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) fail_kind("object");
  return object_->need(key).value;
}

template <JsonOrder order>
BasicJson<order>& BasicJson<order>::operator[](std::size_t index) {
  if (is_null()) *this = array();
  if (!is_array()) fail_kind("array");
  if (index >= array_->size()) array_->resize(index + 1);
  return (*array_)[index];
}

template <JsonOrder order>
const BasicJson<order>& BasicJson<order>::operator[](std::string_view key) const {
  static const BasicJson none;
  const BasicJson* found = member(key);
  return found != nullptr ? *found : none;
}

template <JsonOrder order>
const BasicJson<order>& BasicJson<order>::operator[](std::size_t index) const {
  static const BasicJson none;
  return is_array() && index < array_->size() ? (*array_)[index] : none;
}

template <JsonOrder order>
const BasicJson<order>& BasicJson<order>::at(std::string_view key) const {
  const BasicJson* found = object_member(key);
  if (found == nullptr) throw JsonError("key '" + std::string(key) + "' not found");
  return *found;
}
template <JsonOrder order>
BasicJson<order>& BasicJson<order>::at(std::string_view key) {
  return const_cast<BasicJson&>(std::as_const(*this).at(key));
}

template <JsonOrder order>
const BasicJson<order>& BasicJson<order>::at(std::size_t index) const {
  if (!is_array()) fail_kind("array");
  if (index >= array_->size()) throw JsonError("array index " + std::to_string(index) + " is out of range");
  return (*array_)[index];
}
template <JsonOrder order>
BasicJson<order>& BasicJson<order>::at(std::size_t index) {
  return const_cast<BasicJson&>(std::as_const(*this).at(index));
}

template <JsonOrder order>
void BasicJson<order>::push_back(const JsonRef& value) {
  if (is_null()) *this = array();
  // {"key", value} adds a member to an object.
  if (is_object() && value.kind_ == JsonRef::Kind::list && value.is_pair()) {
    BasicJson pair(value);
    return emplace(pair[0].string(), std::move(pair[1]));
  }
  if (!is_array()) fail_kind("array");
  array_->emplace_back(value);
}

template <JsonOrder order>
void BasicJson<order>::emplace(std::string_view key, const JsonRef& value) {
  if (is_null()) *this = object();
  if (!is_object()) fail_kind("object");
  const std::size_t before = object_->members.size();
  Member& made = object_->need(key);
  if (object_->members.size() != before) made.value.assign(value);
}

template <JsonOrder order>
void BasicJson<order>::update(const BasicJson& other) {
  if (is_null()) *this = object();
  if (!is_object()) fail_kind("object");
  if (!other.is_object()) other.fail_kind("object");
  for (const Member* each : other.object_->members) object_->need(each->key).value = each->value;
}

template <JsonOrder order>
std::size_t BasicJson<order>::erase(std::string_view key) {
  if (!is_object()) fail_kind("object");
  const auto found = object_->find(key);
  const auto at = static_cast<std::size_t>(found - object_->members.data());
  if (at == object_->members.size()) return 0;
  delete *found;
  object_->members.erase(object_->members.begin() + static_cast<std::ptrdiff_t>(at));
  return 1;
}

template <JsonOrder order>
void BasicJson<order>::erase(std::size_t index) {
  at(index);
  array_->erase(array_->begin() + static_cast<std::ptrdiff_t>(index));
}

template <JsonOrder order>
typename BasicJson<order>::iterator BasicJson<order>::erase(iterator at) {
  const std::ptrdiff_t index = at - begin();
  if (is_object()) {
    const auto member = object_->members.begin() + index;
    delete *member;
    object_->members.erase(member);
  } else if (is_array()) {
    array_->erase(array_->begin() + index);
  } else {
    fail_kind("array or object");
  }
  return begin() + index;
}

template <JsonOrder order>
typename BasicJson<order>::iterator BasicJson<order>::erase(iterator from, iterator to) {
  if (!is_array()) fail_kind("array");
  const std::ptrdiff_t index = from - begin(), count = to - from;
  array_->erase(array_->begin() + index, array_->begin() + index + count);
  return begin() + index;
}

template <JsonOrder order>
void BasicJson<order>::clear() {
  const JsonKind was = kind_;
  clear_to_null();
  BasicJson empty(was);
  if (was == JsonKind::string) empty = BasicJson("");
  swap(empty);
}

template <JsonOrder order>
void BasicJson<order>::reserve(std::size_t elements) {
  if (is_null()) *this = array();
  if (!is_array()) fail_kind("array");
  array_->reserve(elements);
}

template <JsonOrder order>
typename BasicJson<order>::const_iterator BasicJson<order>::begin() const {
  if (is_object()) return const_iterator(static_cast<Member* const*>(object_->members.data()));
  return const_iterator(is_array() ? static_cast<const BasicJson*>(array_->data()) : this);
}
template <JsonOrder order>
typename BasicJson<order>::const_iterator BasicJson<order>::end() const {
  return begin() + static_cast<std::ptrdiff_t>(size());
}
template <JsonOrder order>
typename BasicJson<order>::iterator BasicJson<order>::begin() {
  if (is_object()) return iterator(static_cast<Member* const*>(object_->members.data()));
  return iterator(is_array() ? array_->data() : this);
}
template <JsonOrder order>
typename BasicJson<order>::iterator BasicJson<order>::end() {
  return begin() + static_cast<std::ptrdiff_t>(size());
}

template <JsonOrder order>
JsonItems<BasicJson<order>, typename BasicJson<order>::iterator> BasicJson<order>::items() {
  return {begin(), end()};
}
template <JsonOrder order>
JsonItems<const BasicJson<order>, typename BasicJson<order>::const_iterator> BasicJson<order>::items() const {
  return {begin(), end()};
}

template class BasicJson<JsonOrder::sorted>;
template class BasicJson<JsonOrder::added>;

}  // namespace wattle
