// Hourly usage of workloads: rows, idle and unattributed add up to the nodes' energy over any sequence of restarts.
#include <rapidcheck.h>

#include <array>
#include <optional>
#include <random>

#include "common/json/value.hpp"
#include "controller/web/usage_json.hpp"
#include "tests/unit/controller/usage_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace wattle::controller::test::usage;
using json = wattle::SortedJson;

namespace {

constexpr std::array kAllBy{ReportBy::name_space, ReportBy::owner, ReportBy::node, ReportBy::label};

// Records of several nodes over several hours, with restarts, clock changes and folds of the ledger.
void run_stream(unsigned seed) {
  std::mt19937 random(seed);
  const CrashDisk disk;
  StoreFileOptions options = in_memory();
  options.max_ledger_rows = 1 + static_cast<std::int64_t>(random() % 30);
  options.ledger_every_s = static_cast<std::int64_t>(random() % 20);
  std::optional<StoreFile> file(open(options));
  std::map<std::string, std::uint64_t> seqs;
  std::map<std::string, Energy> by_pod;
  Energy drawn;
  std::int64_t now_s = kNow_s;
  const auto steps = static_cast<unsigned>(1 + random() % 60);
  for (unsigned step = 0; step < steps; ++step) {
    now_s += random() % 10 == 0 ? static_cast<std::int64_t>(random() % (3 * kHour_s)) - kHour_s / 2
                                : static_cast<std::int64_t>(random() % 60);
    std::vector<StoreItem> batch;
    for (std::uint64_t i = random() % 5; i > 0; --i) {
      const std::string node = "n" + std::to_string(random() % 3);
      const bool estimated = random() % 4 == 0;
      std::vector<WorkloadValues> workloads;
      for (std::uint64_t pods = random() % 6; pods > 0; --pods) {
        const std::string name = "pod-" + std::to_string(pods) + "-" + std::to_string(step / (1 + random() % 20));
        workloads.push_back(used(name, random() % 1'000'000, random() % 1'000'000));
        (estimated ? by_pod[name].estimated_uj : by_pod[name].energy_uj) +=
            static_cast<std::int64_t>(*workloads.back().energy_uj);
      }
      batch.push_back(
          whole(node, ++seqs[node], std::move(workloads), estimated ? EnergySource::estimated : EnergySource::rapl));
      (estimated ? drawn.estimated_uj : drawn.energy_uj) +=
          static_cast<std::int64_t>(*batch.back().record.node.energy_uj);
    }
    RC_ASSERT(file->apply(batch, now_s).has_value());
    if (random() % 9 == 0) RC_ASSERT(file->write_ledger().has_value());
    if (random() % 7 == 0) {
      file.reset();
      file.emplace(open(options));
    }
    if (random() % 5 == 0)
      RC_ASSERT(file->usage().put(std::vector{described("pod-1-0", "shop", "Job/a", "team=x")}, now_s).has_value());
  }
  for (const ReportBy by : kAllBy) {
    // The whole, and any part of it.
    const UsageReport all = report_of(*file, by, 0, "team");
    RC_ASSERT(total(all) == drawn);
    RC_ASSERT(all.nodes.drawn == drawn);
    RC_ASSERT(all.missing() == Energy{});
    const UsageReport part =
        report_of(*file, by, kNow_s + static_cast<std::int64_t>(random() % (12 * kHour_s)), "team");
    RC_ASSERT(total(part) == part.nodes.drawn);
  }
  const UsageReport owners = report_of(*file, ReportBy::owner);
  if (const auto job = owners.rows.find("Job/a"); job != owners.rows.end())
    RC_ASSERT((Energy{job->second.used.energy_uj, job->second.used.estimated_uj} == by_pod["pod-1-0"]));
}

}  // namespace

TEST_CASE("rows, idle and unattributed add up to the nodes' energy by every grouping, over restarts") {
  CHECK(rc::check([] { run_stream(*rc::gen::arbitrary<unsigned>()); }));
}

TEST_CASE("records that arrive after all raw records have expired are counted once, over restarts") {
  const CrashDisk disk;
  const StoreFileOptions options = in_memory();
  std::optional<StoreFile> file(open(options));
  take(*file, {whole("n0", 1, {used("pod-1", 5'000'000)})}, kNow_s);
  const std::int64_t later_s = kNow_s + options.keep_s + kHour_s;
  take(*file, {}, later_s);  // no node reports, and the stored records expire
  const auto again = [&] {
    file.reset();
    file.emplace(open(options));
  };
  again();
  take(*file, {whole("n0", 2, {used("pod-1", 7'000'000)})}, later_s + 1);
  again();
  const UsageReport report = report_of(*file, ReportBy::node);
  CHECK(report.nodes.drawn.energy_uj == 20'000'000);
  CHECK(report.missing() == Energy{});
}

TEST_CASE("a workload belongs to namespace, owner, node and label, also after its end; unknown ones are listed apart") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  CHECK(report_of(file, ReportBy::node).from_s == 0);
  take(file,
       {whole("a", 1, {used("u1", 10, 3'600), used("u2", 20), used("nginx.service", 30, 0, WorkloadKind::service)})},
       kNow_s + 120);
  take(file, {whole("b", 1, {used("u3", 40), used("u4", 50)}, EnergySource::estimated)}, kNow_s + 121);
  REQUIRE(file.usage().put(std::vector{described("u1", "shop", "Deployment/web", "app=web,team=red"),
                                       described("u2", "shop", "Job/copy", "app=copy,team="),
                                       placed("u4", "b", kNow_s + 122, "ReplicaSet/old-1")},
                           kNow_s));
  // Hours later, records of other workloads; the earlier ones have ended.
  take(file, {whole("a", 2, {used("u5", 60)})}, kNow_s + 5 * kHour_s);
  const auto energy = [](const UsageReport& report) {
    std::map<std::string, std::int64_t> out;
    for (const auto& [key, row] : report.rows) out[key] = row.used.energy_uj + row.used.estimated_uj;
    return out;
  };
  using Rows = std::map<std::string, std::int64_t>;
  const UsageReport spaces = report_of(file, ReportBy::name_space);
  CHECK(energy(spaces) == Rows{{"shop", 30}, {"(unknown)", 150}, {"(service)", 30}});
  CHECK(spaces.rows.at("shop").used.cpu_us == 3'600);
  CHECK(spaces.rows.at("shop").workloads == 2);
  CHECK(spaces.rows.at("(unknown)").used.estimated_uj == 90);
  CHECK(spaces.nodes.idle == Energy{6'000'000, 3'000'000});
  CHECK(spaces.from_s == kNow_s + 120);
  CHECK(spaces.cut);
  CHECK(energy(report_of(file, ReportBy::owner)) == Rows{{"Deployment/web", 10},
                                                         {"Job/copy", 20},
                                                         {"ReplicaSet/old-1", 50},
                                                         {"service/nginx.service", 30},
                                                         {"(unknown)", 100}});
  CHECK(energy(report_of(file, ReportBy::label, 0, "team")) ==
        Rows{{"red", 10}, {"(empty)", 20}, {"(none)", 30}, {"(unknown)", 150}});
  CHECK(energy(report_of(file, ReportBy::label, 0, "tea")) == Rows{{"(none)", 60}, {"(unknown)", 150}});
  const UsageReport nodes = report_of(file, ReportBy::node);
  CHECK(energy(nodes) == Rows{{"a", 120}, {"b", 90}});
  CHECK(nodes.rows.at("b").placements == 1);
  CHECK(nodes.by_node.at("b").idle == Energy{0, 3'000'000});
  CHECK(report_of(file, ReportBy::owner).rows.at("ReplicaSet/old-1").placements == 1);
  // The last hour alone, and an hour without records.
  const UsageReport last = report_of(file, ReportBy::name_space, kNow_s + 5 * kHour_s + 60);
  CHECK(energy(last) == Rows{{"(unknown)", 60}});
  CHECK(last.from_s == kNow_s + 5 * kHour_s);
  CHECK_FALSE(last.cut);
  CHECK(energy(report_of(file, ReportBy::name_space, kNow_s + 9 * kHour_s)).empty());
}

TEST_CASE("the API server's facts take precedence, and a pod counts as placed once, on its last node") {
  const CrashDisk disk;
  const auto options = in_memory();
  const std::vector<PodFacts> said{
      placed("u", "a", kNow_s, "ReplicaSet/web-5d9"), described("u", "shop", "Deployment/web", "team=red"),
      placed("u", "a", kNow_s + 60, "ReplicaSet/web-5d9"), placed("u", "b", kNow_s + 90, "ReplicaSet/web-5d9")};
  const PodFacts expected{"u", "shop", "Deployment/web", "team=red", true, "b", kNow_s + 90};
  PodFacts merged = said[0];
  for (std::size_t i = 1; i < said.size(); ++i) merged.merge(said[i]);
  CHECK(merged == expected);
  {
    StoreFile file = open(options);
    for (const PodFacts& one : said) REQUIRE(file.usage().put(std::vector{one}, kNow_s));
  }
  StoreFile file = open(options);
  std::vector<PodFacts> kept;
  REQUIRE(file.usage().each_pod([&](const PodFacts& pod) { kept.push_back(pod); }));
  CHECK(kept == std::vector{expected});
}

TEST_CASE("waiting is the share of the reported time in which a task waited; a missing report is not zero") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  WorkloadValues waits = used("u1", 10), silent = used("u2", 10);
  waits.pressure.cpu_some_ratio = 0.25;
  take(file, {whole("a", 1, {waits, silent}), whole("a", 2, {waits})}, kNow_s);
  REQUIRE(file.usage().put(std::vector{described("u1", "one", "", ""), described("u2", "two", "", "")}, kNow_s));
  const ReportQuery query{{kNow_s, ReportBy::name_space, {}}, 10, kNow_s + 9};
  const json reported = json::parse(report_text(file, query).value());
  REQUIRE(reported["rows"].size() == 2);
  CHECK(reported["rows"][0]["key"] == "one");
  CHECK(reported["rows"][0]["waited_s"] == 0.5);
  CHECK(reported["rows"][0]["waiting_ratio"] == 0.25);
  CHECK(reported["rows"][1]["waited_s"].is_null());
  CHECK(reported["rows"][1]["waiting_ratio"].is_null());
}

TEST_CASE("a pod's waiting in a report excludes the time at its own limit") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  WorkloadValues limited = used("u1", 10);
  limited.pressure.cpu_some_ratio = 0.75;
  limited.cpu_usage_us = 500'000;
  limited.cpu_throttled_us = 500'000;
  take(file, {whole("a", 1, {limited})}, kNow_s);
  REQUIRE(file.usage().put(std::vector{described("u1", "one", "", "")}, kNow_s));
  const json reported = json::parse(report_text(file, {{kNow_s, ReportBy::name_space, {}}, 10, kNow_s + 9}).value());
  REQUIRE(reported["rows"].size() == 1);
  CHECK(reported["rows"][0]["waiting_ratio"] == 0.25);
}

TEST_CASE("the oldest hours and their pods are deleted by age or size, and the report has its start") {
  const CrashDisk disk;
  StoreFileOptions options = in_memory();
  const std::int64_t hours = 30;
  SUBCASE("by age") { options.usage.keep_s = 5 * kHour_s; }
  SUBCASE("by size") { options.usage.max_bytes = 3'000; }
  StoreFile file = open(options);
  std::uint64_t seq = 0;
  for (std::int64_t hour = 0; hour < hours; ++hour) {
    const std::int64_t now_s = kNow_s + hour * kHour_s;
    REQUIRE(file.usage().put(std::vector{described("old-" + std::to_string(hour), "shop", "Job/a", "")}, now_s));
    // The limits are checked only now and then.
    for (int i = 0; i < 256; ++i)
      take(file, {whole("a", ++seq, {used("old-" + std::to_string(hour), 10), used("stays", 10)})}, now_s + i);
  }
  const UsageReport report = report_of(file, ReportBy::owner);
  CHECK(report.cut);
  CHECK(report.from_s >= kNow_s + hours / 4 * kHour_s);
  CHECK(report.from_s < kNow_s + (hours - 4) * kHour_s);
  CHECK(total(report) == report.nodes.drawn);
  CHECK(file.usage().bytes() < 4'000);
  const std::uint64_t bytes = file.usage().bytes();
  std::int64_t pods = 0;
  REQUIRE(file.usage().each_pod([&](const PodFacts&) { ++pods; }));
  CHECK(pods < hours);
  CHECK(static_cast<std::int64_t>(report.rows.at("Job/a").workloads) ==
        (kNow_s + hours * kHour_s - report.from_s) / kHour_s);
  file = open([&] {
    StoreFile closed = std::move(file);
    return options;
  }());
  CHECK(file.usage().bytes() == bytes);
}

TEST_CASE("without retention a report says so, and later retention starts from zero") {
  const CrashDisk disk;
  StoreFileOptions options = in_memory();
  const ReportQuery query{{0, ReportBy::name_space, {}}, 10, kNow_s};
  { take(*std::make_unique<StoreFile>(open(options)), {whole("a", 1, {used("u", 10)})}, kNow_s); }
  options.usage.max_bytes = 0;
  {
    StoreFile file = open(options);
    REQUIRE(file.usage().put(std::vector{described("u", "shop", "", "")}, kNow_s));
    take(file, {whole("a", 2, {used("u", 20)})}, kNow_s + 60);
    REQUIRE(file.write_ledger());
    const auto refused = report_text(file, query);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("store.path") != std::string::npos);
  }
  options.usage.max_bytes = 1 << 20;
  StoreFile file = open(options);
  take(file, {whole("a", 3, {used("u", 40)})}, kNow_s + 120);
  const UsageReport report = report_of(file, ReportBy::name_space);
  CHECK(report.from_s == kNow_s + 120);
  CHECK(total(report) == report.nodes.drawn);
  CHECK(report.rows.at("(unknown)").used.energy_uj == 40);
}

TEST_CASE("missing parts of a sample are reported as missing, and change nothing else") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  StoreItem node = whole("a", 1, {used("u1", 10), used("u2", 20)});
  node.record.workloads.pop_back();  // in a part that never arrives
  node.record.parts = 2;
  take(file, {node}, kNow_s);
  const UsageReport report = report_of(file, ReportBy::node);
  CHECK(report.missing() == Energy{20, 0});
  CHECK(report.nodes.drawn.energy_uj == 4'000'030);
}
