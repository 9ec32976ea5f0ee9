#include "agent/collect/probe_window.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;

namespace {
ProbeResult answer(MonoTime at, double ms) { return {at, ProbeEnd::answered, ms}; }
ProbeResult lost(MonoTime at, ProbeEnd end) { return {at, end, 0}; }
}  // namespace

TEST_CASE("a window reports median, 95th percentile, jitter and loss of the answers within its span") {
  ManualClock clock;
  ProbeWindow window(60s);
  window.add(answer(clock.mono(), 1000));  // expires below
  clock.advance(10s);
  window.add(answer(clock.mono(), 1));
  clock.advance(1s);
  window.add(answer(clock.mono(), 3));
  clock.advance(1s);
  window.add(lost(clock.mono(), ProbeEnd::timeout));
  clock.advance(1s);
  window.add(answer(clock.mono(), 2));
  clock.advance(52s);
  const auto values = window.values("web", ProbeKind::http, clock.mono());
  CHECK(values.target == "web");
  CHECK(values.kind == ProbeKind::http);
  CHECK(values.sent == 4);
  CHECK(values.timeouts == 1);
  CHECK(values.loss_ratio == doctest::Approx(0.25));
  CHECK(*values.p50_ms == doctest::Approx(2));
  CHECK(*values.p95_ms == doctest::Approx(3));
  CHECK(*values.jitter_ms == doctest::Approx(1.5));  // |3 - 1|, |2 - 3|
  CHECK(window.counts()[static_cast<std::size_t>(ProbeEnd::timeout)] == 1);
  CHECK(window.counts()[static_cast<std::size_t>(ProbeEnd::answered)] == 4);  // over all time
}

TEST_CASE("a window without answers has no latency, and one answer has no jitter") {
  const ManualClock clock;
  ProbeWindow window;
  CHECK_FALSE(window.values("x", ProbeKind::tcp, clock.mono()).p50_ms.has_value());
  window.add(lost(clock.mono(), ProbeEnd::refused));
  auto values = window.values("x", ProbeKind::tcp, clock.mono());
  CHECK_FALSE(values.p50_ms.has_value());
  CHECK(values.loss_ratio == doctest::Approx(1));
  window.add(answer(clock.mono(), 5));
  values = window.values("x", ProbeKind::tcp, clock.mono());
  CHECK(values.p50_ms.has_value());
  CHECK_FALSE(values.jitter_ms.has_value());
}

TEST_CASE("every probe of the window is answered or lost in exactly one way") {
  CHECK(rc::check([](const std::vector<std::uint8_t>& ends) {
    ManualClock clock;
    ProbeWindow window(60s);
    std::vector<std::pair<MonoTime, ProbeEnd>> all;
    for (const auto one : ends) {
      all.emplace_back(clock.mono(), static_cast<ProbeEnd>(one % kProbeEnds));
      window.add({all.back().first, all.back().second, 1});
      clock.advance(std::chrono::milliseconds(one * 20));
    }
    const auto values = window.values("x", ProbeKind::icmp, clock.mono());
    ProbeEnds young{};
    for (const auto& [at, end] : all)
      if (clock.mono() - at <= 60s) ++young[static_cast<std::size_t>(end)];
    std::uint64_t sent = 0;
    for (const auto count : young) sent += count;
    RC_ASSERT(values.sent == sent);
    RC_ASSERT(values.dns_failures == young[1]);
    RC_ASSERT(values.refusals == young[2]);
    RC_ASSERT(values.timeouts == young[3]);
    RC_ASSERT(values.unreachables == young[4]);
    RC_ASSERT(values.bad_answers == young[5]);
    RC_ASSERT(values.p50_ms.has_value() == (young[0] > 0));
    const double lost_count = static_cast<double>(sent - young[0]);
    RC_ASSERT(values.loss_ratio == (sent == 0 ? 0 : lost_count / static_cast<double>(sent)));
  }));
}

TEST_CASE("percentiles are measured values in order, and half of the answers are not above the median") {
  CHECK(rc::check([](const std::vector<std::uint16_t>& ms) {
    const ManualClock clock;
    ProbeWindow window;
    for (const auto one : ms) window.add(answer(clock.mono(), one));
    const auto values = window.values("x", ProbeKind::tcp, clock.mono());
    RC_ASSERT(values.p50_ms.has_value() == !ms.empty());
    if (ms.empty()) return;
    RC_ASSERT(*values.p50_ms <= *values.p95_ms);
    RC_ASSERT(std::find(ms.begin(), ms.end(), static_cast<std::uint16_t>(*values.p95_ms)) != ms.end());
    const auto below = std::count_if(ms.begin(), ms.end(), [&](auto one) { return one <= *values.p50_ms; });
    RC_ASSERT(2 * below >= static_cast<std::ptrdiff_t>(ms.size()));
  }));
}

TEST_CASE("a round trip is the time from start to answer, and an answer after the timeout does not count") {
  ManualClock clock;
  const MonoTime began = clock.mono();
  clock.advance(250us);
  CHECK(judge(began, clock.mono(), 1s, ProbeEnd::answered).round_trip_ms == doctest::Approx(0.25));
  clock.step_wall(-1h);
  clock.advance(1s - 250us);
  CHECK(judge(began, clock.mono(), 1s, ProbeEnd::answered).end == ProbeEnd::answered);
  clock.advance(1ns);
  CHECK(judge(began, clock.mono(), 1s, ProbeEnd::answered).end == ProbeEnd::timeout);
  CHECK(judge(began, clock.mono(), 1s, ProbeEnd::refused).end == ProbeEnd::refused);
}

TEST_CASE("probes keep to their grid, and missed ones are not made up for") {
  ManualClock clock;
  const MonoTime due = clock.mono();
  CHECK(next_due(due, 1s, clock.mono()) == due + 1s);
  clock.advance(300ms);
  CHECK(next_due(due, 1s, clock.mono()) == due + 1s);
  clock.advance(4s);
  CHECK(next_due(due, 1s, clock.mono()) == due + 5s);
  CHECK(next_due(due + 10s, 1s, clock.mono()) == due + 10s);
}
