#include "agent/metrics.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "common/parse.hpp"
#include "micro_of.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::micro_of;

namespace {
constexpr std::int64_t kSecond_ns = 1'000'000'000;

KernelValues kernel_values() {
  KernelValues kernel;
  kernel.run_queue_us = 1'500;
  kernel.run_queue_waits = 30;
  kernel.tcp_srtt_us = 250.5;
  kernel.tcp_srtt_samples = 4;
  kernel.block_io_us = 2'000;
  kernel.block_ios = 8;
  return kernel;
}

WorkloadValues workload(std::uint64_t id, std::uint64_t cpu_us, std::uint64_t uj) {
  WorkloadValues w;
  w.cgroup_id = id;
  w.kind = WorkloadKind::service;
  w.name = "s" + std::to_string(id) + ".service";
  w.cpu_usage_us = cpu_us;
  w.energy_uj = uj;
  return w;
}

// A sample with every value.
Sample full_sample() {
  Sample sample;
  Record& r = sample.record;
  r.seq = 1;
  r.mono_ns = 5 * kSecond_ns;
  r.interval_ns = kSecond_ns;
  NodeValues& n = r.node;
  n.cpu_used_cores = 1.5;
  n.cpu_cores = 2;
  n.memory_used_bytes = 100;
  n.memory_total_bytes = 200;
  n.energy_source = EnergySource::rapl;
  n.energy_uj = 1'500'000;
  n.idle_energy_uj = 900'000;
  n.unattributed_energy_uj = 100'000;
  n.domains = {{"package-0", 1'500'000, true, EnergySource::rapl}};
  n.energy_gap = true;
  n.kernel = kernel_values();
  sample.node.cpu = CpuCounters{1'000'000, 0, 2};
  sample.node.interfaces = {{"eth0", 1, 2}};
  sample.node.disks = {{"sda", 3, 4}};
  sample.pressure.cpu = sample.pressure.memory = sample.pressure.io = {1, 2};
  WorkloadValues w = workload(5, 600'000, 500'000);
  w.name = "a\\x2d\"b\".service";
  w.memory_bytes = 10;
  w.io_read_bytes = 4096;
  w.io_write_bytes = 8192;
  w.pids = 7;
  w.pressure = {0.5, 0.25, 0.125, 0.1, 0.2, 0.3};
  w.cpu_throttled_us = 1'000;
  w.memory_oom_kills = 1;
  w.kernel = kernel_values();
  r.workloads = {w};
  r.probes = {{"default", 1.0, 2.0, 0.5, 0.1, 10, ProbeKind::icmp}};
  sample.errors.emplace_back("tcp", Error{Errc::io, "x", "y", ""});
  return sample;
}

Metrics full_metrics(const MetricsOptions& options = {}) {
  return {{{"rapl", true, true, "1 zone", ""}, {"twice", true, true, "", ""}, {"twice", false, true, "", ""}}, options};
}

const std::vector<ProbeCounts>& probe_counts() {
  static const std::vector<ProbeCounts> kCounts = [] {
    ProbeCounts counts;
    counts.target = "default";
    counts.by_end[0] = 3;
    counts.by_end[2] = 1;
    for (const double seconds : {0.0002, 0.003, 0.7}) counts.round_trips.add(seconds);
    return std::vector{counts};
  }();
  return kCounts;
}

// "name{labels}" to the number as it is written.
std::map<std::string, std::string> series_of(const std::string& page) {
  std::map<std::string, std::string> series;
  parse::for_each_line(page, [&](std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const auto space = line.rfind(' ');
    const bool is_new = series.emplace(line.substr(0, space), line.substr(space + 1)).second;
    CHECK_MESSAGE(is_new, std::string(line));
  });
  return series;
}

std::uint64_t sum_uj(const std::map<std::string, std::string>& series, const std::string& family) {
  std::uint64_t sum = 0;
  for (const auto& [name, number] : series)
    if (name.starts_with(family + "{")) sum += micro_of(number);
  return sum;
}

bool conserved(const std::map<std::string, std::string>& series) {
  return sum_uj(series, "wattle_node_energy_joules_total") ==
         sum_uj(series, "wattle_workload_energy_joules_total") +
             sum_uj(series, "wattle_node_left_energy_joules_total") +
             sum_uj(series, "wattle_node_idle_energy_joules_total") +
             sum_uj(series, "wattle_node_unattributed_energy_joules_total");
}

std::set<std::string> listed(const std::map<std::string, std::string>& series) {
  std::set<std::string> names;
  for (const auto& [name, number] : series)
    if (name.starts_with("wattle_workload_cpu_seconds_total{")) names.insert(name);
  return names;
}
}  // namespace

TEST_CASE("docs/reference/metrics.md lists the families of a full page, and only those, each with its type") {
  Metrics metrics = full_metrics();
  Sample sample = full_sample();
  sample.record.workloads.push_back(workload(6, 1, 1));
  sample.record.workloads.back().ended = true;
  metrics.observe(sample, 0);
  sample.record.workloads.pop_back();
  sample.record.mono_ns += 61 * kSecond_ns;
  metrics.observe(sample, 0);
  LinkValues link;
  link.configured = link.spool = true;
  metrics.observe(link);
  ProvisioningValues provisioning{.configured = true, .connected = true, .latency = true, .latency_known = 1};
  provisioning.answers.push_back({.workload = "web.service", .count = 7, .over = 1});
  metrics.observe(provisioning);
  std::map<std::string, std::string> on_page, in_docs;
  parse::for_each_line(metrics.page(probe_counts()), [&](std::string_view line) {
    const auto words = parse::fields(line);
    if (words.size() == 4 && words[1] == "TYPE") on_page.emplace(words[2], words[3]);
  });
  std::ifstream file(tests::source_dir() + "/docs/reference/metrics.md");
  REQUIRE(file.is_open());
  std::string line;
  bool agent = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) agent = line.starts_with("## Agent");
    if (!agent || !line.starts_with("| `wattle_")) continue;
    const auto cells = parse::split(line, '|');
    REQUIRE(cells.size() >= 4);
    const std::string names(cells[1]), type(parse::trim(cells[2]));
    for (auto at = names.find("wattle_"); at != std::string::npos; at = names.find("wattle_", at + 1)) {
      const auto end = names.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
      in_docs.emplace(names.substr(at, end - at), type.substr(0, type.find(',')));
    }
  }
  CHECK(on_page.size() > 40);
  for (const auto& family : on_page) {
    CAPTURE(family.first);
    REQUIRE(in_docs.contains(family.first));
    CHECK(in_docs[family.first] == family.second);
  }
  for (const auto& family : in_docs) CHECK_MESSAGE(on_page.contains(family.first), family.first);
}

TEST_CASE("the page accumulates differences in base units, and escapes names") {
  Metrics metrics = full_metrics();
  Sample sample = full_sample();
  metrics.observe(sample, 0);
  sample.record.mono_ns += kSecond_ns;
  metrics.observe(sample, 2);
  const auto page = metrics.page(probe_counts());
  CAPTURE(page);
  const std::string labels = R"({kind="service",name="a\\x2d\"b\".service",cgroup="5")";
  for (const std::string& line : {
           std::string("wattle_node_energy_joules_total{source=\"rapl\"} 3\n"),
           std::string("wattle_agent_late_ticks_total 2\n"),
           std::string("wattle_agent_source_ok{source=\"rapl\"} 1\n"),
           std::string("wattle_agent_source_ok{source=\"twice\"} 0\n"),
           std::string("wattle_node_energy_gaps_total 2\n"),
           std::string("wattle_node_network_bytes_total{interface=\"eth0\",direction=\"received\"} 1\n"),
           std::string("wattle_node_disk_bytes_total{disk=\"sda\",direction=\"written\"} 4\n"),
           std::string("wattle_node_tcp_srtt_seconds_sum 0.002004\n"),
           std::string("wattle_node_tcp_srtt_seconds_count 8\n"),
           "wattle_workload_energy_joules_total" + labels + ",source=\"rapl\"} 1\n",
           "wattle_workload_cpu_throttled_seconds_total" + labels + "} 0.002\n",
           "wattle_workload_oom_kills_total" + labels + "} 2\n",
           "wattle_workload_io_bytes_total" + labels + ",direction=\"written\"} 16384\n",
           "wattle_workload_pressure_seconds_total" + labels + ",resource=\"memory\",share=\"some\"} 0.25\n",
           std::string("wattle_probe_results_total{target=\"default\",kind=\"icmp\",end=\"refused\"} 1\n"),
       })
    CHECK_MESSAGE(page.find(line) != std::string::npos, line);
  CHECK(conserved(series_of(page)));
}

TEST_CASE("round trips and answers are histograms; each energy source has a series, with 1 for the one in use") {
  Metrics metrics = full_metrics();
  metrics.observe(full_sample(), 0);
  ProvisioningValues provisioning{.configured = true, .connected = true};
  AnswerValues answers{.workload = "web.service", .count = 10, .over = 1};
  for (std::size_t i = 40; i < 50; ++i) answers.all.buckets[i] = 1;
  provisioning.answers.push_back(answers);
  metrics.observe(provisioning);
  const auto series = series_of(metrics.page(probe_counts()));
  const std::string trips = "wattle_probe_round_trip_seconds", target = "target=\"default\",kind=\"icmp\"";
  CHECK(series.at(trips + "_bucket{" + target + ",le=\"0.0001\"}") == "0");
  CHECK(series.at(trips + "_bucket{" + target + ",le=\"0.00025\"}") == "1");
  CHECK(series.at(trips + "_bucket{" + target + ",le=\"0.005\"}") == "2");
  CHECK(series.at(trips + "_bucket{" + target + ",le=\"1\"}") == "3");
  CHECK(series.at(trips + "_bucket{" + target + ",le=\"+Inf\"}") == "3");
  CHECK(series.at(trips + "_count{" + target + "}") == "3");
  CHECK(std::stod(series.at(trips + "_sum{" + target + "}")) == doctest::Approx(0.7032));

  const std::string took = "wattle_agent_answer_seconds";
  std::map<double, std::uint64_t> buckets;
  for (const auto& [name, number] : series)
    if (const auto le = name.find("le=\""); name.starts_with(took + "_bucket") && name.find("+Inf") == name.npos)
      buckets[std::stod(name.substr(le + 4))] = std::stoull(number);
  REQUIRE(buckets.size() > 30);
  std::uint64_t before = 0;
  for (const auto& [bound, up_to] : buckets) CHECK(up_to >= std::exchange(before, up_to));
  CHECK(buckets.rbegin()->second == 10);
  CHECK(series.at(took + "_bucket{workload=\"web.service\",le=\"+Inf\"}") == "10");
  CHECK(series.at(took + "_count{workload=\"web.service\"}") == "10");
  CHECK(std::stod(series.at(took + "_sum{workload=\"web.service\"}")) == doctest::Approx(answer_sum_s(answers.all)));

  int in_force = 0;
  for (const auto& [name, number] : series)
    if (name.starts_with("wattle_agent_energy_source{")) in_force += std::stoi(number);
  CHECK(in_force == 1);
  CHECK(series.at("wattle_agent_energy_source{source=\"rapl\"}") == "1");
  CHECK(series.at("wattle_agent_energy_source{source=\"estimated\"}") == "0");
}

TEST_CASE("absent values are not on the page, neither as 0 nor as an empty family") {
  Metrics metrics({}, {});
  Sample sample;
  sample.record.seq = 1;
  sample.record.workloads = {workload(5, 1, 1)};
  sample.record.workloads[0].energy_uj.reset();
  metrics.observe(sample, 0);
  const auto page = metrics.page({});
  for (const char* name : {"memory", "energy_joules", "srtt", "socket", "probe", "throttled", "pressure", "connected"})
    CHECK_MESSAGE(page.find("wattle_" + std::string(name)) == std::string::npos, page);
  CHECK(page.find("energy_joules") == std::string::npos);
}

TEST_CASE("energy on the page changes at most once per floor interval, however often it is read") {
  Metrics metrics = full_metrics();
  Sample sample = full_sample();
  std::int64_t moved_at_ns = 0;
  std::string before;
  int moves = 0;
  for (int tick = 0; tick < 100; ++tick) {
    sample.record.mono_ns += kSecond_ns / 10;
    metrics.observe(sample, 0);
    const auto series = series_of(metrics.page({}));
    CHECK(conserved(series));
    const std::string now = series.at("wattle_node_energy_joules_total{source=\"rapl\"}");
    if (now == before) continue;
    if (!before.empty()) {
      CHECK(sample.record.mono_ns - moved_at_ns >= kSecond_ns);
      ++moves;
    }
    before = now;
    moved_at_ns = sample.record.mono_ns;
  }
  CHECK(moves == 9);
}

TEST_CASE("workloads above the cap are folded into one, and the listed ones follow usage with hysteresis") {
  Metrics metrics = full_metrics({.max_workloads = 2, .energy_floor = std::chrono::seconds(1)});
  Sample sample;
  const auto tick = [&](std::uint64_t first, std::uint64_t second, std::uint64_t third) {
    sample.record.mono_ns += kSecond_ns;
    sample.record.interval_ns = kSecond_ns;
    ++sample.record.seq;
    sample.record.workloads = {workload(1, first, 1), workload(2, second, 2), workload(3, third, 3)};
    sample.record.node.energy_uj = 6;
    for (auto& w : sample.record.workloads) w.memory_bytes = 10;
    metrics.observe(sample, 0);
  };
  const auto has = [&](const std::string& page, const std::string& id) {
    return page.find("cgroup=\"" + id + "\"") != std::string::npos;
  };
  for (int i = 0; i < 200; ++i) tick(100, 100, 120);  // more, but less than half as much again
  std::string page = metrics.page({});
  CHECK(has(page, "1"));
  CHECK(has(page, "2"));
  CHECK_FALSE(has(page, "3"));
  CHECK(page.find("wattle_workload_memory_bytes{kind=\"folded\",name=\"other\",cgroup=\"0\"} 10\n") !=
        std::string::npos);
  CHECK(page.find("wattle_workload_energy_joules_total{kind=\"folded\",name=\"other\",cgroup=\"0\",source=\"none\"} "
                  "0.0006\n") != std::string::npos);
  CHECK(conserved(series_of(page)));
  for (int i = 0; i < 200; ++i) tick(100, 90, 500);
  page = metrics.page({});
  CHECK(has(page, "1"));
  CHECK_FALSE(has(page, "2"));
  CHECK(has(page, "3"));
  CHECK(conserved(series_of(page)));
}

TEST_CASE("no microjoule is lost and no counter falls, whatever starts, ends and is folded") {
  const bool holds = rc::check("conservation on the page", [] {
    const auto cap = *rc::gen::inRange<std::size_t>(0, 4);
    Metrics metrics = full_metrics({.max_workloads = cap, .energy_floor = std::chrono::seconds(1)});
    Sample sample;
    std::set<std::uint64_t> alive;
    std::map<std::string, std::string> before;
    const auto ticks = *rc::gen::inRange(1, 40);
    for (int tick = 0; tick < ticks; ++tick) {
      Record& r = sample.record;
      ++r.seq;
      r.interval_ns = *rc::gen::inRange<std::int64_t>(1, 90) * kSecond_ns / 2;
      r.mono_ns += r.interval_ns;
      r.node.energy_source = *rc::gen::element(EnergySource::rapl, EnergySource::estimated);
      r.workloads.clear();
      std::uint64_t whole_uj = 0;
      for (std::uint64_t id = 1; id <= 6; ++id) {
        if (!alive.contains(id) && *rc::gen::inRange(0, 3) != 0) continue;
        WorkloadValues w =
            workload(id, *rc::gen::inRange<std::uint64_t>(0, 1000), *rc::gen::inRange<std::uint64_t>(0, 1000));
        w.ended = *rc::gen::inRange(0, 4) == 0;
        if (w.ended)
          alive.erase(id);
        else
          alive.insert(id);
        if (!w.ended && *rc::gen::inRange(0, 8) == 0) continue;  // ended without a record
        whole_uj += *w.energy_uj;
        r.workloads.push_back(std::move(w));
      }
      r.partial = *rc::gen::arbitrary<bool>();
      r.node.idle_energy_uj = *rc::gen::inRange<std::uint64_t>(0, 1000);
      r.node.unattributed_energy_uj = *rc::gen::inRange<std::uint64_t>(0, 1000);
      r.node.energy_uj = whole_uj + *r.node.idle_energy_uj + *r.node.unattributed_energy_uj;
      metrics.observe(sample, 0);
      if (*rc::gen::arbitrary<bool>()) continue;
      const auto now = series_of(metrics.page({}));
      RC_ASSERT(conserved(now));
      RC_ASSERT(listed(now).size() <= cap + 1);
      for (const auto& [name, number] : now) {
        if (name.find("joules_total") == std::string::npos || !before.contains(name)) continue;
        // A workload that left the page and returned starts from zero, as after a restart.
        if (name.find("wattle_workload") == 0 && name.find("folded") == std::string::npos) continue;
        RC_ASSERT(micro_of(number) >= micro_of(before.at(name)));
      }
      before = now;
    }
  });
  CHECK(holds);
}

TEST_CASE("an ended workload stays for a minute, and then its energy is kept in the total of those that left") {
  Metrics metrics = full_metrics();
  Sample sample = full_sample();
  sample.record.workloads[0].ended = true;
  metrics.observe(sample, 0);
  CHECK(metrics.page({}).find("cgroup=\"5\"") != std::string::npos);
  sample.record.workloads.clear();
  sample.record.node.energy_uj = 1'000'000;
  sample.record.mono_ns += 61 * kSecond_ns;
  metrics.observe(sample, 0);
  const auto page = metrics.page({});
  CHECK(page.find("cgroup=\"5\"") == std::string::npos);
  CHECK(page.find("wattle_node_left_energy_joules_total{source=\"rapl\"} 0.5\n") != std::string::npos);
  CHECK(conserved(series_of(page)));
}
