// Partial records and records in parts, as an agent makes them, compared with complete records of the same intervals.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "agent/delta_encoder.hpp"
#include "controller/decisions/settle.hpp"
#include "controller/ingest/validate.hpp"
#include "controller/state/cluster_state.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;

namespace {
MonoTime thin_at_s(std::uint64_t s) { return mono_from_ns(static_cast<std::int64_t>(s) * kSecondNs); }

WorkloadValues workload(const std::string& name, std::uint64_t id, std::uint64_t cpu_us) {
  WorkloadValues values = pod_values(name, cpu_us);
  values.cgroup_id = id;
  values.energy_uj = cpu_us * 5;
  values.memory_bytes = 1 << 20;
  return values;
}

struct InUse {
  ClusterState state{std::chrono::seconds(30)};
  InUse() { state.greet(hello_of("n1")); }
  RecordNews hear(const Record& record, std::uint64_t second) { return state.apply("n1", record, thin_at_s(second)); }
  const Workload& of(const std::string& name) { return state.node("n1")->workloads.at(name); }
  bool has(const std::string& name) { return state.node("n1")->workloads.contains(name); }
};
}  // namespace

TEST_CASE("a controller that receives thinned records has the same state as one that receives complete ones") {
  CHECK(rc::check([] {
    using Step = std::pair<std::uint64_t, std::uint64_t>;
    const auto most_bytes = *rc::gen::element<std::size_t>(500, 1 << 20);
    const auto ticks = *rc::gen::container<std::vector<std::vector<Step>>>(rc::gen::container<std::vector<Step>>(
        rc::gen::pair(rc::gen::inRange<std::uint64_t>(1, 9), rc::gen::inRange<std::uint64_t>(0, 500'000))));
    InUse whole, thinned;
    agent::DeltaEncoder thinner(most_bytes);
    std::map<std::uint64_t, WorkloadValues> roots;
    std::uint64_t second = 0;
    for (const auto& steps : ticks) {
      ++second;
      for (auto& [id, values] : roots) values = at_rest(values);
      for (const auto& [id, busy] : steps) {
        if (busy % 7 == 0 && roots.contains(id))
          roots[id].ended = true;
        else if (!roots.contains(id) || !roots[id].ended)
          roots[id] = workload("p" + std::to_string(id / 2), id, busy % 3 == 0 ? 0 : busy);
      }
      Record record = record_at(second);
      for (const auto& [id, values] : roots) record.workloads.push_back(values);
      whole.hear(record, second);
      for (const Record& part : thinner.thin(record)) {
        Record checked = part;
        if (const auto valid = validate(checked); !valid) RC_FAIL(valid.error().message());
        thinned.hear(checked, second);
      }
      const Node& a = *whole.state.node("n1");
      const Node& b = *thinned.state.node("n1");
      RC_ASSERT(a.power_w == b.power_w);
      RC_ASSERT(a.energy_j == b.energy_j);
      RC_ASSERT(a.samples == b.samples);
      for (const auto& [name, reported] : a.workloads) {
        RC_ASSERT(b.workloads.contains(name));
        const Workload& known = b.workloads.at(name);
        RC_ASSERT(reported.cpu_cores == known.cpu_cores);
        RC_ASSERT(reported.power_w == known.power_w);
        RC_ASSERT(reported.energy_j.value_or(0) == known.energy_j.value_or(0));
        RC_ASSERT(reported.values.memory_bytes == known.values.memory_bytes);
        RC_ASSERT(reported.first_seen == known.first_seen);
      }
      RC_ASSERT(a.workloads.size() == b.workloads.size());
      std::erase_if(roots, [](const auto& item) { return item.second.ended; });
    }
  }));
}

TEST_CASE("a workload that a partial record omits is at rest, and is removed only if a complete record omits it") {
  InUse in_use;
  Record first = record_at(1);
  first.workloads = {workload("p1", 1, 400'000), workload("p2", 2, 100)};
  CHECK(in_use.hear(first, 1).appeared.size() == 2);
  Record partial = record_at(2);
  partial.partial = true;
  partial.workloads = {workload("p2", 2, 200)};
  in_use.hear(partial, 2);
  CHECK(*in_use.of("p1").cpu_cores == 0);
  CHECK(*in_use.of("p1").power_w == 0);
  CHECK(*in_use.of("p1").values.memory_bytes == 1 << 20);
  CHECK(*in_use.of("p2").cpu_cores == doctest::Approx(200e-6));
  Record whole = record_at(3);
  whole.workloads = {workload("p2", 2, 0)};
  in_use.hear(whole, 3);
  for (std::uint64_t seq = 4; seq <= 6; ++seq) {
    Record quiet = record_at(seq);
    quiet.partial = true;
    in_use.hear(quiet, seq);
  }
  CHECK_FALSE(in_use.has("p1"));
  CHECK(in_use.has("p2"));
}

TEST_CASE("after a lost record the known state stays, and the next complete record corrects it") {
  InUse in_use;
  Record first = record_at(1);
  first.workloads = {workload("p1", 1, 400'000)};
  in_use.hear(first, 1);
  // Record 2, which lists p3 and the end of p1, is lost.
  Record partial = record_at(3);
  partial.partial = true;
  in_use.hear(partial, 3);
  CHECK(in_use.has("p1"));
  CHECK_FALSE(in_use.has("p3"));
  for (std::uint64_t seq = 4; seq <= 7; ++seq) {
    Record whole = record_at(seq);
    whole.workloads = {workload("p3", 3, 5)};
    in_use.hear(whole, seq);
  }
  CHECK_FALSE(in_use.has("p1"));
  CHECK(in_use.has("p3"));
}

TEST_CASE("a listing with a lost part removes no workload") {
  InUse in_use;
  Record first = record_at(1);
  for (std::uint64_t id = 1; id <= 3; ++id) first.workloads.push_back(workload("p" + std::to_string(id), id, 5));
  in_use.hear(first, 1);
  for (std::uint64_t seq = 2; seq <= 20; seq += 3) {
    for (std::uint64_t part = 0; part < 3; ++part) {
      if (part == 1) continue;
      Record record = part == 0 ? record_at(seq) : Record{};
      record.incarnation = 1;
      record.seq = seq + part;
      record.mono_ns = static_cast<std::int64_t>(seq) * kSecondNs;
      record.interval_ns = kSecondNs;
      record.part = part;
      record.parts = 3;
      record.workloads = {workload("p" + std::to_string(part + 1), part + 1, 7)};
      in_use.hear(record, seq);
    }
  }
  CHECK(in_use.has("p2"));
  CHECK(in_use.state.node("n1")->power_w == doctest::Approx(100));
}

TEST_CASE("a pod at rest counts as time without usage once it has been listed") {
  WindowSums sums;
  Record partial = record_at(1);
  partial.partial = true;
  sums.add(partial, "p1");  // not listed yet
  CHECK(sums.pod_s == 0);
  Record busy = record_at(2);
  busy.partial = true;
  busy.workloads = {workload("p1", 1, 500'000)};
  sums.add(busy, "p1");
  sums.add(record_at(3), "p1");  // a complete record without it
  CHECK(sums.pod_s == doctest::Approx(1));
  sums.add(partial, "p1");
  CHECK(sums.pod_s == doctest::Approx(2));
  CHECK(sums.pod_core_s == doctest::Approx(0.5));
}

TEST_CASE("an interval in parts counts the node and the pod once") {
  WindowSums sums;
  for (std::uint64_t part = 0; part < 3; ++part) {
    Record record = record_at(1 + part);
    record.partial = true;
    record.part = part;
    record.parts = 3;
    if (part == 1) record.workloads = {workload("p1", 1, 500'000)};
    sums.add(record, "p1");
    if (part == 1) sums.add(record, "other");
  }
  CHECK(sums.records == 1);
  CHECK(sums.pod_s == doctest::Approx(1));
  CHECK(sums.power_s == doctest::Approx(1));
}

TEST_CASE("the new fields have bounds, and a field out of bounds is named") {
  using Spoil = void (*)(Record&);
  const std::pair<const char*, Spoil> wrong[] = {
      {"part", [](Record& r) { r.parts = 0; }},
      {"part", [](Record& r) { r.part = 3, r.parts = 3; }},
      {"part", [](Record& r) { r.part = 9, r.parts = 10; }},  // before the first record
      {"dram_read_bytes_per_s", [](Record& r) { r.node.sockets[0].dram_read_bytes_per_s = -1; }},
      {"frequency_hz", [](Record& r) { r.node.sockets[0].frequency_hz = 1e12; }},
      {"c_state_ratios",
       [](Record& r) {
         r.node.sockets[0].package_c_state_ratios = {0.5, 1.5};
       }},
      {"c_state_ratios", [](Record& r) { r.node.sockets[0].package_c_state_ratios.assign(1000, 0.0); }},
      {"node.kernel.on_cpu_us", [](Record& r) { r.node.kernel.on_cpu_us = 17'000'000; }},
      {"run_queue_us", [](Record& r) { r.node.kernel.run_queue_us = std::uint64_t{1} << 60; }},
      {"tcp_srtt_us", [](Record& r) { r.workloads[0].kernel.tcp_srtt_us = -5; }},
      {"block_ios", [](Record& r) { r.workloads[0].kernel.block_ios = std::uint64_t{1} << 50; }},
      {"cpu_throttled_us", [](Record& r) { r.workloads[0].cpu_throttled_us = 100'000'000; }},
      {"memory_anon_bytes", [](Record& r) { r.workloads[0].memory_anon_bytes = std::uint64_t{1} << 60; }},
      {"memory_oom_kills", [](Record& r) { r.workloads[0].memory_oom_kills = std::uint64_t{1} << 40; }},
      {"probes[t]", [](Record& r) { r.probes[0].timeouts = 11; }},
      {"domains",
       [](Record& r) {
         r.node.domains = {{"", 1, false}};
       }},
      {"domains[dram-0]",
       [](Record& r) {
         r.node.domains = {{"dram-0", 30'000'000'000, false}};
       }},
  };
  Record sound = record_at(5);
  sound.node.sockets.push_back({0, 1e9, 1e8, 3e9, {0.25, 0.75}});
  sound.node.kernel.on_cpu_us = 4'000'000;
  sound.workloads = {workload("p1", 1, 5)};
  sound.workloads[0].kernel.tcp_srtt_us = 300;
  sound.probes.push_back({"t", 1.0, 2.0, 0.1, 0.5, 10});
  REQUIRE(validate(sound));
  for (const auto& one : wrong) {
    const std::string field = one.first;
    Record record = sound;
    one.second(record);
    const auto refused = validate(record);
    REQUIRE_MESSAGE(!refused, field);
    CHECK_MESSAGE(refused.error().subject.find(field) != std::string::npos, refused.error().subject);
  }
}
