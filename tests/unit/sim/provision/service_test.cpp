// service: requests share CPUs equally, and the mean response matches theory where there is one.
#include "sim/provision/service.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "common/stats/moments.hpp"
#include "sim/world/random.hpp"

using namespace wattle::sim;
using namespace wattle::sim::provision;

namespace {

struct Played {
  wattle::stats::Moments response_s;
  double used_s = 0;
};

// Poisson arrivals and log-normal work on a service without a limit.
Played play(double cores, double rate_rps, double work_s, double work_cv, double seconds, std::uint64_t seed) {
  Random random(seed);
  Service service(cores);
  const double variance = std::log1p(work_cv * work_cv);
  std::vector<double> arrived;
  Played played;
  double now = 0, next_arrival = exponential(random, 1 / rate_rps);
  while (now < seconds) {
    const double next = std::min(next_arrival, service.next_event_s(now));
    service.advance(now, next);
    now = next;
    while (const auto request = service.take_done())
      if (arrived[*request] > seconds / 10) played.response_s.add(now - arrived[*request]);
    if (now >= next_arrival) {
      service.arrive(arrived.size(), std::exp(std::log(work_s) - variance / 2 + std::sqrt(variance) * normal(random)));
      arrived.push_back(now);
      next_arrival = now + exponential(random, 1 / rate_rps);
    }
  }
  played.used_s = service.bandwidth.used_s();
  return played;
}

}  // namespace

TEST_CASE("M/G/1 processor sharing: the mean response is work / (1 - load), for any distribution of work") {
  for (const double load : {0.3, 0.6, 0.8})
    for (const double cv : {0.0, 1.0, 2.0}) {
      CAPTURE(load);
      CAPTURE(cv);
      const Played played = play(1, load / 0.004, 0.004, cv, 4000, 3);
      CHECK(played.response_s.mean() == doctest::Approx(0.004 / (1 - load)).epsilon(0.05));
      CHECK(played.used_s / 4000 == doctest::Approx(load).epsilon(0.02));
    }
}

// Erlang's share of requests that find all cores busy.
double erlang_c(double cores, double offered) {
  double term = 1, sum = 0;
  for (double n = 0; n < cores; ++n) {
    sum += term;
    term *= offered / (n + 1);
  }
  const double all_busy = term * cores / (cores - offered);
  return all_busy / (sum + all_busy);
}

TEST_CASE("processor sharing on several cores: the mean response is that of M/M/c, for any distribution of work") {
  // Birth and death rates are those of M/M/c, and shared service is insensitive to the distribution of work.
  for (const double cores : {2.0, 4.0})
    for (const double cv : {0.0, 1.0}) {
      CAPTURE(cores);
      const double work_s = 0.004, load = 0.75, rate = load * cores / work_s;
      const double mean = work_s + erlang_c(cores, load * cores) / (cores / work_s - rate);
      CHECK(play(cores, rate, work_s, cv, 1500, 5).response_s.mean() == doctest::Approx(mean).epsilon(0.05));
    }
}

TEST_CASE("two requests on one core take twice as long, on two cores they do not") {
  const auto last_s = [](double cores) {
    Service service(cores);
    service.arrive(1, 0.01);
    service.arrive(2, 0.01);
    const double end = service.next_event_s(0);
    service.advance(0, end);
    CHECK(service.take_done());
    CHECK(service.take_done());
    CHECK_FALSE(service.take_done());
    return end;
  };
  CHECK(last_s(1) == doctest::Approx(0.02));
  CHECK(last_s(2) == doctest::Approx(0.01));
}

TEST_CASE("a service without quota waits for its period, which counts as throttled; a write resumes it") {
  Service service(2);
  REQUIRE(service.bandwidth.set_quota(10'000));
  service.arrive(1, 0.03);
  CHECK(service.next_event_s(0) == doctest::Approx(0.01));
  service.advance(0, 0.01);
  CHECK(service.throttled());
  CHECK(std::isinf(service.next_event_s(0.01)));
  service.advance(0.01, 0.1);
  service.begin_period();
  CHECK(service.throttled_periods() == 1);
  CHECK_FALSE(service.throttled());
  service.advance(0.1, 0.11);
  CHECK(service.throttled());
  REQUIRE(service.bandwidth.set_quota(10'000));
  CHECK_FALSE(service.throttled());
  service.advance(0.11, 0.12);
  CHECK(service.take_done() == 1);
  CHECK_FALSE(service.throttled());  // no request waits
  service.begin_period();
  CHECK(service.throttled_periods() == 1);
}
