#include "common/start_window.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

using namespace wattle;
using namespace std::chrono_literals;

TEST_CASE("a cap depends on the node's cores, and has a minimum") {
  const StartCap cap{1.5, 8, 10s};
  CHECK(cap.of(64) == 96);
  CHECK(cap.of(5) == 8);
  CHECK(cap.of(0) == 8);
  CHECK(cap.of(-1) == 8);
  CHECK(cap.of(NAN) == 8);
  CHECK(cap.of(1e300) == 1'000'000'000);
  CHECK(StartCap{0, 3, 10s}.of(64) == 3);
}

TEST_CASE("a pod counts on one node at a time, until it expires") {
  StartWindow starts;
  const MonoTime start{};
  CHECK(starts.hold("p", "a", start + 10s).empty());
  CHECK(starts.hold("p", "a", start + 12s) == "a");  // repeated: counts once
  CHECK(starts.count("a") == 1);
  CHECK(starts.hold("p", "b", start + 11s) == "a");
  CHECK(starts.count("a") == 0);
  CHECK(starts.count("b") == 1);
  CHECK(starts.drop("p", start + 12s).empty());  // held again since
  CHECK(starts.expire(start + 10s).empty());
  CHECK(starts.expire(start + 11s) == std::vector<std::string>{"b"});
  CHECK(starts.count("b") == 0);
  CHECK(starts.size() == 0);
  CHECK(starts.drop("p").empty());
  starts.hold("p", "a", start + 20s);
  CHECK(starts.drop("p", start + 20s) == "a");
}

// A client that checks the window before each start, with pods that are asked for again, repeated, deleted or unused.
TEST_CASE("a client that respects a node's cap exceeds it in no window, whatever pods do in between") {
  CHECK(rc::check([] {
    constexpr std::uint64_t kCap = 3;
    constexpr Duration kWindow = 10s;
    StartWindow starts;
    struct Start {
      std::string node;
      MonoTime at;
    };
    std::map<std::string, Start> newest;  // the last start of each pod that was not withdrawn
    MonoTime now{};
    const int steps = *rc::gen::inRange(0, 200);
    for (int step = 0; step < steps; ++step) {
      now += std::chrono::milliseconds(*rc::gen::inRange(0, 3000));
      starts.expire(now);
      const std::string pod = "p" + std::to_string(*rc::gen::inRange(0, 30));
      const std::string node = "n" + std::to_string(*rc::gen::inRange(0, 4));
      switch (*rc::gen::inRange(0, 4)) {
        case 0:  // deleted before its start
          starts.drop(pod);
          newest.erase(pod);
          break;
        default:  // a new or repeated ask withdraws the pod's earlier start
          starts.drop(pod);
          newest.erase(pod);
          if (starts.count(node) >= kCap) break;
          starts.hold(pod, node, now + kWindow);
          newest[pod] = {node, now};
      }
      std::map<std::string, std::uint64_t> expected;
      for (const auto& [uid, start] : newest)
        if (start.at + kWindow > now) ++expected[start.node];
      for (int n = 0; n < 4; ++n) {
        const std::string name = "n" + std::to_string(n);
        RC_ASSERT(starts.count(name) == expected[name]);
        RC_ASSERT(expected[name] <= kCap);
      }
    }
  }));
}
