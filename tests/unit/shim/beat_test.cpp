#include "shim/beat.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "shim/requests.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using namespace wattle::shim;

namespace {

struct BeatFixture {
  ManualClock clock;
  Log log = Log::silent();
  Breaker breaker{clock};
  std::vector<Facts> reported;
  Status next;
  Beat beat{[this](Facts facts) {
              reported.push_back(std::move(facts));
              return next;
            },
            [] {
              return Facts{{"host", "a"}};
            },
            breaker, clock, log};
  void turn(int times, Duration step) {
    for (int i = 0; i < times; ++i) {
      beat.turn();
      clock.advance(step);
    }
  }
};

}  // namespace

TEST_CASE("the controller gets a report each second, and missed ones open the breaker without any ask") {
  BeatFixture f;
  f.turn(50, 100ms);
  CHECK(f.reported.size() == 5);
  CHECK(f.reported[0].at("host") == "a");
  f.next = fail(Errc::timeout, "controller", "no answer");
  f.turn(30, 100ms);
  CHECK_FALSE(f.breaker.may_ask());
}

TEST_CASE("while the breaker is open the report is the probe, after its pauses, and an answer closes it") {
  BeatFixture f;
  f.next = fail(Errc::timeout, "controller", "no answer");
  for (int i = 0; i < 3; ++i) f.breaker.missed();
  f.turn(10, 10ms);
  CHECK(f.reported.empty());
  f.turn(70, 10ms);  // after 100, 300 and 700 ms
  CHECK(f.reported.size() == 3);
  CHECK_FALSE(f.breaker.may_ask());
  f.next = {};
  f.turn(90, 10ms);
  CHECK(f.reported.size() == 4);
  CHECK(f.breaker.may_ask());
}

TEST_CASE("a controller that does not know the message still counts as reachable") {
  BeatFixture f;
  for (int i = 0; i < 3; ++i) f.breaker.missed();
  f.next = fail(Errc::malformed, "controller", "there is not such a document");
  f.turn(11, 10ms);
  CHECK(f.breaker.may_ask());
}

TEST_CASE("the report has how often, when and by which client the shim was asked, and answers without the controller") {
  Requests requests;
  CHECK_FALSE(requests.facts(MonoTime{}).contains("asked_ago_ms"));
  requests.note("wattle", false, MonoTime{} + 1s);
  requests.note("default-scheduler", true, MonoTime{} + 2s);
  requests.note("no,name", true, MonoTime{} + 3s);
  const auto facts = requests.facts(MonoTime{} + 4s);
  CHECK(facts.at("asked") == "3");
  CHECK(facts.at("asked_ago_ms") == "1000");
  CHECK(facts.at("without_controller") == "2");
  CHECK(facts.at("schedulers") == "default-scheduler,wattle");
  for (int i = 0; i < 100; ++i) requests.note("s" + std::to_string(i), false, MonoTime{});
  const std::string names = requests.facts(MonoTime{}).at("schedulers");
  CHECK(static_cast<std::size_t>(std::count(names.begin(), names.end(), ',')) == kSchedulersKept - 1);
}
