// steps: splits work of the loop's thread into short parts, between which Turns serves asks.
// Steps    does a part of the work; returns true while more is left
// Draft    does a part of the work; returns its result once it is complete, and must not be called after that
// Rules    the subject of a step must outlive the work. Only asks and probes run between two steps: they make and
//          expect pods, but remove none, and change no node, workload or session
// Threads  the loop's
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace wattle::controller {

inline constexpr std::size_t kItemsPerStep = 32;

using Steps = std::function<bool()>;
template <class T>
using Draft = std::function<std::optional<T>()>;
using Document = Draft<Result<std::string>>;

inline Steps no_steps() {
  return [] { return false; };
}

template <class T>
Draft<T> ready(T value) {
  return [value = std::move(value)]() mutable { return std::optional<T>(std::move(value)); };
}

// Calls `each` for all items, kItemsPerStep per step.
template <class Items, class Each>
Steps each_of(Items& items, Each each) {
  using At = decltype(items.begin());
  return [&items, each = std::move(each), at = std::optional<At>()]() mutable {
    if (!at) at = items.begin();
    for (std::size_t i = 0; i < kItemsPerStep && *at != items.end(); ++i, ++*at) each(**at);
    return *at != items.end();
  };
}

// Does `first`, and then the work that `next` returns, which is called once.
template <class Next>
auto then(Steps first, Next next) {
  using Rest = std::invoke_result_t<Next&>;
  return Rest([first = std::move(first), next = std::move(next), rest = Rest()]() mutable ->
              typename Rest::result_type {
                if (rest) return rest();
                const bool more = first();
                if (!more) rest = next();
                if constexpr (std::is_same_v<Rest, Steps>)
                  return true;
                else
                  return std::nullopt;
              });
}

// Does all of the works, one after the other.
inline Steps in_order(std::vector<Steps> all) {
  return [all = std::move(all), at = std::size_t{0}]() mutable {
    if (at < all.size() && !all[at]()) ++at;
    return at < all.size();
  };
}

// Turns the result into another one.
template <class T, class Map>
auto mapped(Draft<T> draft, Map map) {
  using To = std::invoke_result_t<Map&, T>;
  return Draft<To>([draft = std::move(draft), map = std::move(map)]() mutable -> std::optional<To> {
    std::optional<T> done = draft();
    if (!done) return std::nullopt;
    return map(*std::move(done));
  });
}

// Does all of the work at once.
inline void finish(const Steps& steps) {
  while (steps()) {
  }
}

template <class T>
T finished(const Draft<T>& draft) {
  for (;;)
    if (std::optional<T> done = draft()) return *std::move(done);
}

}  // namespace wattle::controller
