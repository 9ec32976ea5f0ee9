// node_merge: a strategic merge patch as an API server applies it to a v1.Node: null removes a member, objects merge,
// conditions merge by type, and other lists, such as taints, are replaced.
#pragma once

#include <string>

#include "common/json/value.hpp"

namespace wattle::controller::power::test {

inline void merge_conditions(SortedJson& list, const SortedJson& patch) {
  SortedJson out = SortedJson::array();
  for (const SortedJson& each : list)
    if (each["type"] != patch["type"]) out.push_back(each);
  if (!patch.contains("$patch")) out.push_back(patch);
  list = std::move(out);
}

inline void merge_strategic(SortedJson& object, const SortedJson& patch) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      object.erase(key);
    } else if (value.is_object()) {
      if (!object[key].is_object()) object[key] = SortedJson::object();
      merge_strategic(object[key], value);
      if (object[key].empty()) object.erase(key);
    } else if (key == "conditions") {
      if (!object[key].is_array()) object[key] = SortedJson::array();
      for (const SortedJson& each : value) merge_conditions(object[key], each);
    } else {
      object[key] = value;
    }
  }
}

inline SortedJson merged(SortedJson object, const SortedJson& patch) {
  merge_strategic(object, patch);
  return object;
}

}  // namespace wattle::controller::power::test
