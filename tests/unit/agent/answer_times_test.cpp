#include "agent/bpf/answer_times.hpp"

#include <doctest/doctest.h>

#include "agent/config.hpp"
#include "agent/connection_latency.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
// The bucket that starts at `part` eighths of the octave at 2^bit ns.
std::size_t bucket_at(int bit, int part) {
  return static_cast<std::size_t>((bit - WATTLE_ANSWER_FIRST_BIT) * WATTLE_ANSWER_PARTS + part);
}
}  // namespace

TEST_CASE("quantiles of the answers between two readings are within a bucket of the true value") {
  AnswerCounts before, now;
  CHECK_FALSE(answer_quantile(before, now, 0.5));
  before.buckets[bucket_at(20, 0)] = 1000;  // from before
  now = before;
  CHECK_FALSE(answer_quantile(before, now, 0.5));
  now.buckets[bucket_at(24, 2)] += 98;  // from 2^24 (1 + 2/8) ns: 21 ms
  now.buckets[bucket_at(27, 4)] += 2;   // 201 ms
  CHECK(*answer_quantile(before, now, 0.5) == doctest::Approx(22.0e-3).epsilon(0.01));
  CHECK(*answer_quantile(before, now, 0.98) == doctest::Approx(22.0e-3).epsilon(0.01));
  CHECK(*answer_quantile(before, now, 0.99) == doctest::Approx(209.7e-3).epsilon(0.01));
  CHECK(*answer_quantile(before, now, 0) == doctest::Approx(22.0e-3).epsilon(0.01));
  CHECK(*answer_quantile({}, now, 0.5) == doctest::Approx(1.11e-3).epsilon(0.01));
}

TEST_CASE("connections are configured by workload and target, once per workload") {
  const auto mistake = [](const std::string& provisioning) {
    const auto config = parse_config("{http: {port: 0}, provisioning: {socket: /s, " + provisioning + "}}", "a.yaml");
    return config ? std::string() : config.error().message();
  };
  CHECK(mistake("connections: [{workload: a.service, target: 100ms}]").empty());
  const auto read = parse_config("{provisioning: {connections: [{workload: a.service, target: 50ms}]}}", "a.yaml");
  REQUIRE(read);
  CHECK(read->provisioning.connections == std::vector<AnswerTarget>{{"a.service", 0.05}});
  CHECK(mistake("connections: [{workload: a.service}]").find("target") != std::string::npos);
  CHECK(mistake("connections: [{target: 50ms}]").find("workload") != std::string::npos);
  CHECK(mistake("connections: [{workload: a, target: 1s}, {workload: a, target: 2s}]").find("is a duplicate") !=
        std::string::npos);
  CHECK(mistake("connections: [{workload: a, target: 1s}], latency: [{workload: a, url: 'http://127.0.0.1:1/m', "
                "histogram: h, target: 1s}]")
            .find("is a duplicate") != std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kMaxAnswerTargets; ++i) many += "{workload: w" + std::to_string(i) + ", target: 1s},";
  CHECK(mistake("connections: [" + many + "]").find("more than 32") != std::string::npos);
  const auto off =
      parse_config("{bpf: {enabled: false}, provisioning: {connections: [{workload: a, target: 1s}]}}", "a.yaml");
  REQUIRE_FALSE(off);
  CHECK(off.error().message().find("bpf.enabled") != std::string::npos);
}
