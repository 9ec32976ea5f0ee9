#include "controller/decisions/outcome_windows.hpp"

#include <doctest/doctest.h>

#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;

namespace {

const MonoTime kPlaced = mono_from_ns(100 * kSecondNs);

SettleWindow window_of(std::uint64_t id, const std::string& uid, const std::string& node) {
  placement::PodSpec pod;
  pod.uid = uid;
  return {id, pod, node, 0, kPlaced, 3s, {}};
}

std::vector<std::uint64_t> ids_of(const std::vector<SettleWindow>& windows) {
  std::vector<std::uint64_t> ids;
  for (const SettleWindow& window : windows) ids.push_back(window.decision_id());
  return ids;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("records fill the windows of their node; each window is returned once, in the order of decisions") {
  OutcomeWindows windows;
  windows.open(window_of(9, "b", "n1"));
  windows.open(window_of(4, "a", "n1"));
  windows.open(window_of(5, "c", "n2"));
  const auto record = [&](const std::string& node, int second) {
    return windows.add(node, record_at(static_cast<std::uint64_t>(second)), kPlaced + std::chrono::seconds(second),
                       false, kPlaced + std::chrono::seconds(second));
  };
  CHECK(record("n1", 1).empty());
  CHECK(record("n1", 2).empty());
  CHECK(record("n3", 3).empty());
  const auto over = record("n1", 3);
  CHECK(ids_of(over) == Ids{4, 9});
  CHECK(over[0].sums().records == 3);
  CHECK(record("n1", 4).empty());
  CHECK(windows.size() == 1);
}

TEST_CASE("a pod that its agent no longer sees may still be reported as failed until the window ends") {
  OutcomeWindows windows;
  windows.open(window_of(1, "a", "n1"));
  windows.open(window_of(2, "b", "n1"));
  windows.pod_gone("a", "n1", false);
  CHECK(windows.over(kPlaced + 2s).empty());
  windows.pod_failed("a", "n1", "evicted");
  windows.pod_failed("a", "n1", "crash");
  windows.pod_gone("a", "n1");
  const auto over = windows.over(kPlaced + 2s);
  REQUIRE(ids_of(over) == Ids{1});
  CHECK(over[0].failure() == "evicted");
  windows.pod_gone("b", "n1", false);
  CHECK(windows.over(kPlaced + 2s).empty());
  const auto silent = windows.over(kPlaced + 3s);  // no outcome was reported
  REQUIRE(ids_of(silent) == Ids{2});
  CHECK(silent[0].failure().empty());
}

TEST_CASE("the end of a pod ends only its own windows on that node; silence ends all after a grace period") {
  OutcomeWindows windows;
  windows.open(window_of(1, "a", "n1"));
  windows.open(window_of(2, "b", "n1"));
  windows.open(window_of(3, "a", "n2"));
  windows.pod_gone("a", "n1");
  windows.pod_gone("a", "n9");
  CHECK(ids_of(windows.over(kPlaced + 1s)) == Ids{1});
  CHECK(windows.over(kPlaced + 3s).empty());
  CHECK(ids_of(windows.over(kPlaced + 13s)) == Ids{2, 3});
  CHECK(windows.size() == 0);
}

TEST_CASE("a second window for the same decision is ignored without a trace") {
  OutcomeWindows windows;
  windows.open(window_of(1, "a", "n1"));
  windows.open(window_of(1, "a", "n1"));
  CHECK(windows.size() == 1);
  windows.pod_gone("a", "n1");
  CHECK(ids_of(windows.over(kPlaced)) == Ids{1});
  windows.pod_gone("a", "n1");  // a second call finds nothing
  CHECK(windows.add("n1", record_at(1), kPlaced + 1s, false, kPlaced + 1s).empty());
}
