// traits: type traits of fields for the encoder and the decoder.
// Threads  none
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace wattle::wire {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_map : std::false_type {};
template <class T>
struct is_map<std::map<std::string, T>> : std::true_type {};

}  // namespace wattle::wire
