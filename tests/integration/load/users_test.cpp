// Users against a real server with known delays. Checks only what machine load cannot break: laws and lower bounds.
#include "load/users.hpp"

#include <doctest/doctest.h>

#include <condition_variable>

#include "common/stats/quantile.hpp"
#include "tests/integration/load/slow_server.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::load;
using namespace std::chrono_literals;

namespace {

using Manners = SlowServer::Manners;

UserLoad load_for(const SlowServer& server) {
  UserLoad load;
  load.origin = {"127.0.0.1", server.port(), {}};
  load.request = *request_bytes(load.origin, "GET", "/", {}, "");
  load.timeout = 60s;
  return load;
}

Tally apply(const UserLoad& load, const std::function<void(const Progress&)>& reported = {}) {
  const SystemClock clock;
  auto stop = StopSignal::open_();
  REQUIRE(stop);
  auto tally = apply_users(load, clock, *stop, reported);
  REQUIRE_MESSAGE(tally, (tally ? "" : tally.error().message()));
  CHECK(tally->due == tally->answered + tally->failures() + tally->cut_off);
  std::uint64_t statuses = 0;
  for (const auto& [status, count] : tally->by_status) statuses += count;
  CHECK(statuses == tally->answered);
  return std::move(*tally);
}

std::uint64_t failed(const Tally& tally, Failure why) { return tally.failed[static_cast<std::size_t>(why)]; }

// Blocks each request until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    turned_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turned_;
  bool open_ = false;
};

}  // namespace

TEST_CASE("percentiles are at least those of the server's log" * doctest::test_suite("timed")) {
  SlowServer server(Manners{.before = [](std::size_t nth) { wattle::tests::pace(nth % 10 == 9 ? 40ms : 5ms); }});
  UserLoad load = load_for(server);
  load.arrivals = Arrivals::constant(200, 2s, Spacing::poisson, 1);
  const Tally tally = apply(load);
  CHECK(tally.answered == tally.due);
  CHECK(tally.answered == server.requests());
  CHECK(tally.body_bytes == 2 * tally.answered);
  const auto log = server.took_ms();
  for (const double share : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    CHECK(tally.answering.quantile_ms(share) >= *stats::quantile(log, share - 1e-9));
    CHECK(tally.latency.quantile_ms(share) >= *stats::quantile(log, share - 1e-9));
  }
  CHECK(tally.latency.quantile_ms(0.05) >= 5);
  CHECK(tally.latency.quantile_ms(0.95) >= 40);
  CHECK(tally.latency.mean_ms() == doctest::Approx(tally.waited.mean_ms() + tally.answering.mean_ms()));
}

TEST_CASE("a server's stall of one second shows in all requests that were due in that second" *
          doctest::test_suite("timed")) {
  std::mutex mutex;
  std::optional<MonoTime> stalled_until;
  SlowServer server(Manners{.before = [&](std::size_t) {
    const SystemClock clock;
    MonoTime until;
    {
      const std::lock_guard lock(mutex);
      if (!stalled_until) stalled_until = clock.mono() + 1s;
      until = *stalled_until;
    }
    wattle::tests::pace(until - clock.mono());
  }});
  UserLoad load = load_for(server);
  load.arrivals = Arrivals::constant(100, 4s, Spacing::even, 1);
  load.most_connections = 2;
  const Tally tally = apply(load);
  REQUIRE(tally.due == 400);
  REQUIRE(tally.answered == 400);
  // Of the 100 requests due in that second, the first half waited at least half a second, although at most two were in
  // flight at any time.
  CHECK(tally.latency.quantile_ms(1 - 48.0 / 400) >= 500);
  CHECK(tally.latency.quantile_ms(1 - 88.0 / 400) >= 100);
  CHECK(tally.waited.quantile_ms(1 - 46.0 / 400) >= 500);
  CHECK(tally.most_connections == 2);
}

TEST_CASE("the rate is the requested one, and a trace has its count at any speed" * doctest::test_suite("timed")) {
  SlowServer server({});
  UserLoad load = load_for(server);
  load.arrivals = Arrivals::constant(500, 1s, Spacing::even, 1);
  const Tally steady = apply(load);
  CHECK(steady.due == 500);
  CHECK(steady.answered == 500);
  CHECK(steady.lasted >= 1s);
  CHECK(steady.offered == 1s);
  RateTrace trace{"steps", {100, 0, 50, 200}};
  scale(trace, 2);
  load.arrivals = Arrivals::of_trace(trace, 10, Spacing::even, 1);
  const Tally replayed = apply(load);
  CHECK(replayed.due == 700);
  CHECK(replayed.answered == 700);
  CHECK(replayed.lasted >= 400ms);
}

TEST_CASE("a closed loop keeps Little's law" * doctest::test_suite("timed")) {
  SlowServer server(Manners{.before = [](std::size_t) { wattle::tests::pace(10ms); }});
  UserLoad load = load_for(server);
  load.closed = {8, 20ms, Spacing::even, 2s};
  const Tally tally = apply(load);
  CHECK(tally.most_connections == 8);
  CHECK(tally.answered == tally.due);
  // Each user's think time and waiting fill the time until its last answer, which is less than one think time before
  // the
  // end.
  const double spent_s = static_cast<double>(tally.answered) * (tally.latency.mean_ms() + 20) / 1e3;
  CHECK(spent_s <= 8 * seconds(tally.lasted) + 1e-6);
  CHECK(spent_s >= 8 * (2 - 0.02) - 1e-6);
  CHECK(static_cast<double>(tally.answered) <= 8 * 2 / 0.03 + 8);
}

TEST_CASE("an unanswered request counts as a timeout, and in the percentiles with the timeout") {
  Gate gate;
  SlowServer server(Manners{.before = [&](std::size_t) { gate.pass(); }});
  UserLoad load = load_for(server);
  load.timeout = 200ms;
  load.most_connections = 3;
  load.arrivals = Arrivals::constant(50, 1s, Spacing::even, 1);
  const Tally tally = apply(load);
  gate.open();
  CHECK(tally.answered == 0);
  CHECK(failed(tally, Failure::timeout) == 50);
  CHECK(tally.latency.count() == 50);
  CHECK(tally.latency.quantile_ms(0.01) >= 200);
  CHECK(tally.waited.count() == 50);
}

TEST_CASE("requests beyond the capacity are counted as unsent") {
  Gate gate;
  SlowServer server(Manners{.before = [&](std::size_t) { gate.pass(); }});
  UserLoad load = load_for(server);
  load.timeout = 500ms;
  load.most_connections = 1;
  load.most_waiting = 5;
  load.arrivals = Arrivals::constant(1000, 100ms, Spacing::even, 1);
  const Tally tally = apply(load);
  gate.open();
  CHECK(tally.due == 100);
  CHECK(failed(tally, Failure::unsent) + failed(tally, Failure::timeout) == 100);
  CHECK(failed(tally, Failure::unsent) >= 90);
}

TEST_CASE("a request on a keep-alive connection that the server closed uses another connection") {
  SlowServer server(Manners{.closes = true});
  UserLoad load = load_for(server);
  load.arrivals = Arrivals::constant(100, 500ms, Spacing::even, 1);
  load.most_connections = 2;
  const Tally tally = apply(load);
  CHECK(tally.answered == 50);
  CHECK(tally.failures() == 0);
  CHECK(tally.reconnected > 0);
}

TEST_CASE("an answer that is not HTTP, an end without an answer and statuses are distinguished") {
  const auto reported_of = [](const std::string& answer) {
    SlowServer server(Manners{.answer = [&](std::size_t) { return answer; }, .closes = true});
    UserLoad load = load_for(server);
    load.arrivals = Arrivals::constant(100, 100ms, Spacing::even, 1);
    return apply(load);
  };
  CHECK(failed(reported_of("SSH-2.0-OpenSSH_9.2\r\n\r\n"), Failure::malformed) == 10);
  CHECK(failed(reported_of(""), Failure::closed) == 10);
  CHECK(failed(reported_of("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), Failure::closed) == 10);
  CHECK(reported_of("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n").by_status ==
        std::map<int, std::uint64_t>{{503, 10}});
  const Tally reported_first = reported_of("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOkAnswer);
  CHECK(reported_first.by_status == std::map<int, std::uint64_t>{{200, 10}});
  // Only a last chunk: Boost 1.81 fails an assertion on this.
  CHECK(reported_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").answered == 10);
}

TEST_CASE("after a server stops, requests are counted as refused connections") {
  auto server = std::make_unique<SlowServer>(Manners{});
  UserLoad load = load_for(*server);
  load.closed = {2, 10ms, Spacing::even, 2s};
  // The server stops after the first second of progress.
  std::uint64_t seconds_reported = 0;
  const Tally tally = apply(load, [&](const Progress& second) {
    server.reset();
    ++seconds_reported;
    CHECK(second.since_start >= 1s);
  });
  CHECK(seconds_reported >= 1);
  CHECK(tally.answered > 0);
  CHECK(failed(tally, Failure::refused) > 0);
}

TEST_CASE("an unused port, or an unknown name, is reported at once") {
  std::uint16_t port = 0;
  {
    const SlowServer server({});
    port = server.port();
  }
  const SystemClock clock;
  auto stop = StopSignal::open_();
  REQUIRE(stop);
  UserLoad load;
  load.arrivals = Arrivals::constant(1, 3600s, Spacing::even, 1);
  load.origin = {"127.0.0.1", port, {}};
  const auto refused = apply_users(load, clock, *stop, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unavailable);
  CHECK(refused.error().subject == "http://127.0.0.1:" + std::to_string(port));
  CHECK_FALSE(refused.error().fix.empty());
  load.origin = {"no-such-host.invalid", 80, {}};
  const auto unknown = apply_users(load, clock, *stop, {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Errc::not_found);
  load.most_connections = 100'000'000;
  const auto many = apply_users(load, clock, *stop, {});
  REQUIRE_FALSE(many);
  CHECK(many.error().code == Errc::exhausted);
}
