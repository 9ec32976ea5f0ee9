// shims: the clients that ask this controller, and pods without an ask.
#include "controller/state/shims.hpp"

#include <doctest/doctest.h>

#include "controller/web/shims_json.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using namespace wattle::controller;

namespace {

using Facts = std::map<std::string, std::string>;
Facts facts(const std::string& host, const std::string& asked = "3") {
  return {{"host", host}, {"version", "1"}, {"asked", asked}, {"asked_ago_ms", "1500"}, {"schedulers", "wattle,other"}};
}

kube::Pod pod(const std::string& uid, const std::string& scheduler = "wattle") {
  kube::Pod out;
  out.uid = uid;
  out.scheduler = scheduler;
  out.node_name = "n1";
  return out;
}

struct ShimsFixture {
  ManualClock clock{MonoTime{} + 1h};
  Shims shims{{"wattle"}};
  void beat(const std::string& host, const std::string& asked = "3") {
    REQUIRE(shims.beat("shim/shim", facts(host, asked), clock.mono()));
  }
  void bind(int count, const std::string& name, bool ask) {
    for (int i = 0; i < count; ++i) {
      const std::string uid = name + std::to_string(i);
      if (ask) shims.asked(uid, clock.mono());
      shims.bound(pod(uid), clock.mono());
    }
  }
  std::string state() const { return judge_shims(shims, clock.mono()).state; }
  std::string detail() const { return judge_shims(shims, clock.mono()).detail; }
};

}  // namespace

TEST_CASE("shims that share a key are distinguished by host, and a silent one is remembered for ten minutes") {
  ShimsFixture f;
  f.beat("a");
  f.beat("b");
  CHECK(f.shims.connected(f.clock.mono()) == 2);
  CHECK(f.state() == "ok");
  f.clock.advance(6s);
  f.beat("a");
  CHECK(f.shims.connected(f.clock.mono()) == 1);
  CHECK(f.state() == "lost");
  CHECK(f.detail().find("b is silent") != std::string::npos);
  f.clock.advance(10min);
  f.beat("a");
  f.shims.expire(f.clock.mono());
  CHECK(f.shims.all().size() == 1);
  CHECK(f.shims.all().begin()->second.asked_at == f.clock.mono() - 1500ms);
}

TEST_CASE("an invalid heartbeat is refused with the name of its error") {
  ShimsFixture f;
  for (const auto& [key, value] : Facts{{"asked", "many"}, {"host", std::string(300, 'x')}, {"version", "\xff"}}) {
    Facts wrong = facts("a");
    wrong[key] = value;
    const Status got = f.shims.beat("shim/shim", wrong, f.clock.mono());
    REQUIRE_FALSE(got);
    CHECK(got.error().what.starts_with(key));
  }
  CHECK(f.shims.all().empty());
  for (std::size_t i = 0; i < kShimsKept; ++i) f.beat("h" + std::to_string(i));
  CHECK_FALSE(f.shims.beat("shim/shim", facts("one more"), f.clock.mono()));
  f.beat("h0");
}

TEST_CASE("bound pods of Wattle's schedulers are counted by whether there was an ask") {
  ShimsFixture f;
  f.shims.asked("p1", f.clock.mono());
  f.shims.bound(pod("p1"), f.clock.mono());
  f.shims.bound(pod("p2"), f.clock.mono());
  f.shims.bound(pod("p3", "other"), f.clock.mono());  // no shim serves this scheduler yet
  kube::Pod daemon = pod("p4");
  daemon.daemonset = true;
  f.shims.bound(daemon, f.clock.mono());
  CHECK(f.shims.recent().pods == 2);
  CHECK(f.shims.recent().unasked == 1);
  f.beat("a");
  f.shims.bound(pod("p5", "other"), f.clock.mono());
  CHECK(f.shims.recent().unasked == 2);
  f.clock.advance(20min);
  f.shims.expire(f.clock.mono());
  CHECK(f.shims.recent().pods == 0);
  CHECK(f.shims.total().pods == 3);
}

TEST_CASE("a shim that is dead, misaddressed or not asked is a failure; a missing shim without pods is not") {
  ShimsFixture f;
  CHECK(f.state() == "lost");
  f.bind(1, "p", false);
  CHECK(f.state() == "failed");  // its pods are bound without a shim
  f.beat("a", "0");
  CHECK(f.state() == "ok");  // a single pod may have had only one feasible node
  f.bind(9, "q", false);
  CHECK(f.state() == "failed");
  CHECK(f.detail().find("10 of 10 pods of other, wattle") != std::string::npos);
  f.bind(15, "r", true);
  CHECK(f.state() == "ok");
  f.bind(20, "s", false);
  CHECK(f.state() == "lost");
  f.clock.advance(6s);
  CHECK(f.state() == "failed");
  CHECK(f.detail().find("a is silent") != std::string::npos);
}

TEST_CASE("requests to unknown paths of a shim are reported if it gets no others") {
  ShimsFixture f;
  Facts wrong = facts("a", "0");
  wrong["wrong_paths"] = "7";
  REQUIRE(f.shims.beat("shim/shim", wrong, f.clock.mono()));
  CHECK(f.state() == "failed");
  CHECK(f.detail().find("paths") != std::string::npos);
}
