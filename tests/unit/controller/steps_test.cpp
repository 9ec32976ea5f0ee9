#include "controller/steps.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace wattle;
using namespace wattle::controller;

TEST_CASE("a step processes a bounded number of items, and the last one reports the end") {
  std::vector<int> items(2 * kItemsPerStep + 1);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> seen;
  const Steps steps = each_of(items, [&](int item) { seen.push_back(item); });
  CHECK(steps());
  CHECK(seen.size() == kItemsPerStep);
  CHECK(steps());
  CHECK_FALSE(steps());
  CHECK(seen == items);
  const std::vector<int> none;
  CHECK_FALSE(each_of(none, [&](int) { FAIL("there is no item"); })());
}

TEST_CASE("works run in sequence, and each is created when it begins") {
  std::vector<int> items(kItemsPerStep + 1, 1);
  std::size_t first = 0, at_begin = 0;
  const auto count = [&](int) { ++first; };
  finish(then(each_of(items, count), [&] {
    at_begin = first;
    return in_order({no_steps(), each_of(items, count)});
  }));
  CHECK(at_begin == items.size());
  CHECK(first == 2 * items.size());
}

TEST_CASE("a draft has no value before its last step, and can be mapped to another value") {
  std::vector<int> items(kItemsPerStep + 1, 1);
  int sum = 0;
  Draft<int> draft = then(each_of(items, [&](int item) { sum += item; }), [&] { return ready(sum); });
  const Draft<std::string> text = mapped(std::move(draft), [](int all) { return std::to_string(all); });
  CHECK_FALSE(text());
  CHECK(finished(text) == std::to_string(items.size()));
}
