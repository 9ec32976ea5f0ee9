// Who asks this controller, and what nobody asked for.
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

TEST_CASE("shims that share a key are distinguished by their host, and one that is silent is known for ten minutes") {
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

TEST_CASE("a beat that makes no sense is refused and names what is wrong") {
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

TEST_CASE("pods of Wattle's schedulers count when they are bound, by whether somebody had asked") {
  ShimsFixture f;
  f.shims.asked("p1", f.clock.mono());
  f.shims.bound(pod("p1"), f.clock.mono());
  f.shims.bound(pod("p2"), f.clock.mono());
  f.shims.bound(pod("p3", "other"), f.clock.mono());  // nobody has said that this one asks
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

TEST_CASE(
    "a shim that is dead, wrongly addressed or not asked is a failure, and none at all before anybody counts on it is "
    "not") {
  ShimsFixture f;
  CHECK(f.state() == "lost");
  f.bind(1, "p", false);
  CHECK(f.state() == "failed");  // its pods come, and no shim is there
  f.beat("a", "0");
  CHECK(f.state() == "ok");  // one pod may have had one node alone
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

TEST_CASE("paths that a shim does not have are reported where nothing else is asked") {
  ShimsFixture f;
  Facts wrong = facts("a", "0");
  wrong["wrong_paths"] = "7";
  REQUIRE(f.shims.beat("shim/shim", wrong, f.clock.mono()));
  CHECK(f.state() == "failed");
  CHECK(f.detail().find("paths") != std::string::npos);
}
