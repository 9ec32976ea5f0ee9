#include "common/transport/peer_clock.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <utility>
#include <vector>

using namespace wattle;
using namespace wattle::transport;
using namespace std::chrono_literals;

namespace {

// Two machines whose clocks have different origins. A suspended machine loses that time.
struct TwoMachines {
  Duration true_time{}, ours_stood{}, peer_stood{};
  double peer_ppm = 0;  // drift of the peer's clock
  PeerClock clock;

  MonoTime ours() const { return MonoTime(1h + true_time - ours_stood); }
  std::int64_t peer_ns() const {
    const Duration ran = true_time - peer_stood;
    return to_ns(MonoTime(5min + ran + from_seconds(seconds(ran) * peer_ppm * 1e-6)));
  }
  std::optional<Duration> round_trip(Duration there, Duration back) {
    const std::int64_t sent_ns = to_ns(ours());
    true_time += there;
    const std::int64_t answered_ns = peer_ns();
    true_time += back;
    return clock.see(sent_ns, answered_ns, ours());
  }
  void suspend_us(Duration by) {
    true_time += by;
    ours_stood += by;
  }
  void suspend_peer(Duration by) {
    true_time += by;
    peer_stood += by;
  }
};

}  // namespace

TEST_CASE("a suspended clock is detected after one round trip, whatever the origin of the peer's clock") {
  TwoMachines both;
  CHECK(!both.round_trip(1ms, 1ms));
  both.suspend_us(10min);
  const auto stood = both.round_trip(1ms, 1ms);
  REQUIRE(stood);
  CHECK(seconds(*stood) == doctest::Approx(600).epsilon(0.001));
  both.clock.reset();
  CHECK(!both.round_trip(1ms, 1ms));
}

TEST_CASE("short pauses add up") {
  TwoMachines both;
  CHECK(!both.round_trip(1ms, 1ms));
  both.suspend_us(600ms);
  CHECK(!both.round_trip(1ms, 1ms));
  both.true_time += 30s;
  both.suspend_us(600ms);
  CHECK(both.round_trip(1ms, 1ms));
}

TEST_CASE("impossible times are ignored") {
  PeerClock clock;
  CHECK(!clock.see(5, 5, mono_from_ns(10)));
  CHECK(!clock.see(-1, INT64_MAX, mono_from_ns(10)));
  CHECK(!clock.see(11, INT64_MAX, mono_from_ns(10)));
  CHECK(!clock.see(5, -1, mono_from_ns(10)));
  CHECK(!clock.see(5, INT64_MIN, mono_from_ns(10)));
}

TEST_CASE("property: slow links, a suspended peer and clock drift are not pauses of our own, which are found at once") {
  CHECK(rc::check([] {
    TwoMachines both;
    both.peer_ppm = *rc::gen::inRange(-500, 500);
    const auto delay = [](int most_ms) { return std::chrono::milliseconds(*rc::gen::inRange(0, most_ms)); };
    const auto trips = *rc::gen::inRange(1, 200);
    for (int i = 0; i < trips; ++i) {
      RC_ASSERT(!both.round_trip(delay(20'000), delay(20'000)));
      both.true_time += delay(10'000);
      if (*rc::gen::inRange(0, 10) == 0) both.suspend_peer(delay(3'600'000));
    }
    RC_ASSERT(!both.round_trip(1ms, 1ms));
    const Duration stood = 1s + std::chrono::milliseconds(*rc::gen::inRange(2'000, 100'000'000));
    both.suspend_us(stood);
    const auto found = both.round_trip(0ms, 1ms);
    RC_ASSERT(found.has_value());
    RC_ASSERT(std::abs(seconds(*found - stood)) < 1 + 0.001 * seconds(stood));
  }));
}
