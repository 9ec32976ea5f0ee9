// json object: the members of an object value, sorted by key or in the order in which they were added; private to
// common/json.
// Units    the cost of a value is in bytes of heap, including malloc's rounding
// Threads  values; no shared state
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"

namespace wattle {

// Members keep their addresses while others are added and removed.
template <JsonOrder order>
struct BasicJson<order>::Object {
  Object() = default;
  Object(const Object& other) {
    members.reserve(other.members.size());
    for (const Member* each : other.members) members.push_back(new Member(*each));
  }
  Object& operator=(const Object&) = delete;
  ~Object() {
    for (Member* each : members) delete each;
  }

  // Sorted: position where the key is or belongs. Added: position of the key, or the end.
  auto place(std::string_view key) const {
    if constexpr (order == JsonOrder::sorted) {
      return std::lower_bound(members.begin(), members.end(), key,
                              [](const Member* member, std::string_view wanted) { return member->key < wanted; });
    } else {
      return std::find_if(members.begin(), members.end(), [&](const Member* member) { return member->key == key; });
    }
  }
  Member* const* find(std::string_view key) const {
    const auto at = place(key);
    if (at == members.end() || (*at)->key != key) return members.data() + members.size();
    return members.data() + (at - members.begin());
  }
  // Returns the member with that key; adds a null member if there is none.
  Member& need(std::string_view key) {
    const auto at = place(key);
    if (at != members.end() && (*at)->key == key) return **at;
    auto* made = new Member{std::string(key), {}};
    members.insert(at, made);
    return *made;
  }

  std::vector<Member*> members;
};

}  // namespace wattle
