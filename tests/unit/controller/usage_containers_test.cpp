// Usage of containers: the rows of a pod's containers and its rest add up to the pod, over restarts, ends and folds of
// the ledger.
#include <rapidcheck.h>

#include <map>
#include <optional>
#include <random>

#include "common/json/value.hpp"
#include "controller/web/usage_json.hpp"
#include "tests/unit/controller/store_tables.hpp"
#include "tests/unit/controller/usage_rig.hpp"

// A separate namespace, because other tests have a kNow_s too.
namespace wattle::controller::test::usage {

using json = wattle::SortedJson;

namespace {

WorkloadValues with_containers(WorkloadValues pod, std::vector<ContainerValues> containers) {
  pod.containers = std::move(containers);
  return pod;
}

PodFacts named(PodFacts facts, const std::string& name, const std::string& container_ids) {
  facts.name = name;
  facts.container_ids = container_ids;
  return facts;
}

using Rows = std::map<std::string, std::int64_t>;
Rows energy_of(const UsageReport& report) {
  Rows out;
  for (const auto& [key, row] : report.rows) out[key] = row.used.energy_uj + row.used.estimated_uj;
  return out;
}

UsageReport of_pod(StoreFile& file, const std::string& pod) {
  auto report = file.report({0, ReportBy::container, {}, pod});
  if (!report) FAIL(report.error().message());
  return std::move(*report);
}

// Sums rows "ns/pod/..." by pod.
std::map<std::string, std::int64_t> by_pod(const Rows& rows) {
  std::map<std::string, std::int64_t> out;
  for (const auto& [key, energy_uj] : rows) out[key.substr(0, key.rfind('/'))] += energy_uj;
  return out;
}

// Pods with restarting containers, on nodes that join and leave, with restarts of the controller and folds.
void run_stream(unsigned seed) {
  std::mt19937 random(seed);
  const CrashDisk disk;
  StoreFileOptions options = in_memory();
  options.max_ledger_rows = 1 + static_cast<std::int64_t>(random() % 40);
  options.ledger_every_s = static_cast<std::int64_t>(random() % 20);
  std::optional<StoreFile> file(open(options));
  std::map<std::string, std::uint64_t> seqs;
  Rows pods, containers;
  Energy drawn;
  std::int64_t now_s = kNow_s;
  for (unsigned step = 0, steps = static_cast<unsigned>(1 + random() % 40); step < steps; ++step) {
    now_s += static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 3 * kHour_s : 60));
    std::vector<StoreItem> batch;
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      const std::string node = "n" + std::to_string(random() % 2);
      std::vector<WorkloadValues> workloads;
      for (std::uint64_t n = random() % 4; n > 0; --n) {
        const std::string name = "pod-" + std::to_string(n);
        WorkloadValues pod = used(name, random() % 1'000'000, random() % 1'000'000);
        std::uint64_t left_uj = *pod.energy_uj, left_us = *pod.cpu_usage_us;
        for (std::uint64_t c = random() % 4; c > 0; --c) {
          const std::string id = std::to_string(c) + "c" + std::to_string(step / 9);
          const std::uint64_t energy_uj = random() % (left_uj + 1), cpu_us = random() % (left_us + 1);
          left_uj -= energy_uj;
          left_us -= cpu_us;
          pod.containers.push_back({id, cpu_us, energy_uj});
          containers[name + "/" + id] += static_cast<std::int64_t>(energy_uj);
        }
        pods[name] += static_cast<std::int64_t>(*pod.energy_uj);
        workloads.push_back(std::move(pod));
      }
      batch.push_back(whole(node, ++seqs[node], std::move(workloads),
                            random() % 4 == 0 ? EnergySource::estimated : EnergySource::rapl));
      drawn.energy_uj += static_cast<std::int64_t>(*batch.back().record.node.energy_uj);
    }
    RC_ASSERT(file->apply(batch, now_s).has_value());
    if (random() % 9 == 0) RC_ASSERT(file->write_ledger().has_value());
    if (random() % 7 == 0) {
      file.reset();
      file.emplace(open(options));
    }
  }
  std::erase_if(containers, [](const auto& each) { return each.second == 0; });
  const UsageReport all = report_of(*file, ReportBy::container);
  RC_ASSERT(all.missing() == Energy{});
  RC_ASSERT(total(all).energy_uj + total(all).estimated_uj == drawn.energy_uj);
  const Rows rows = energy_of(all);
  for (const auto& [pod, energy_uj] : pods) {
    const auto sums = by_pod(rows);
    const auto found = sums.find("(unknown)/" + pod);
    RC_ASSERT((found == sums.end() ? 0 : found->second) == energy_uj);
  }
  for (const auto& [name, energy_uj] : containers) RC_ASSERT(rows.at("(unknown)/" + name) == energy_uj);
  // Other reports have no containers.
  for (const ReportBy by : {ReportBy::name_space, ReportBy::owner, ReportBy::node, ReportBy::label}) {
    const UsageReport other = report_of(*file, by, 0, "team");
    RC_ASSERT(total(other) == total(all));
    RC_ASSERT(other.missing() == Energy{});
  }
  std::int64_t in_ledger = 0;
  const auto ledger = StoreTables::ledger(*file);
  RC_ASSERT(ledger.has_value());
  for (const LedgerRow& row : *ledger) in_ledger += row.energy_uj + row.estimated_uj;
  std::int64_t of_pods = 0;
  for (const auto& [pod, energy_uj] : pods) of_pods += energy_uj;
  RC_ASSERT(in_ledger == of_pods);
}

}  // namespace

TEST_CASE("containers and the rest add up to their pod to the microjoule, over restarts and ends") {
  CHECK(rc::check([] { run_stream(*rc::gen::arbitrary<unsigned>()); }));
}

TEST_CASE("a container has the API server's name through its restarts, otherwise its id") {
  const CrashDisk disk;
  const StoreFileOptions options = in_memory();
  {
    StoreFile file = open(options);
    take(file,
         {whole("a", 1,
                {with_containers(used("u1", 1000, 500), {{"0123456789ab", 300, 600}, {"ffff00000000", 100, 300}}),
                 with_containers(used("u2", 70, 7), {{"777777777777", 7, 70}}), used("u3", 5),
                 used("nginx.service", 30, 0, WorkloadKind::service)})},
         kNow_s);
    REQUIRE(file.usage().put(
        std::vector{named(described("u1", "shop", "Deployment/web", ""), "web-1", "0123456789ab=web")}, kNow_s));
    // The container restarted; the API server no longer reports the old one.
    take(file, {whole("a", 2, {with_containers(used("u1", 500, 10), {{"999999999999", 9, 450}})})}, kNow_s + kHour_s);
    REQUIRE(
        file.usage().put(std::vector{named(described("u1", "shop", "Deployment/web", ""), "web-1", "999999999999=web")},
                         kNow_s + kHour_s));
    REQUIRE(file.write_ledger());
  }
  StoreFile file = open(options);
  const UsageReport all = report_of(file, ReportBy::container);
  CHECK(energy_of(all) == Rows{{"shop/web-1/web", 1050},
                               {"shop/web-1/ffff00000000", 300},
                               {"shop/web-1/(rest)", 150},
                               {"(unknown)/u2/777777777777", 70},
                               {"(unknown)/u3/(rest)", 5},
                               {"(service)", 30}});
  CHECK(all.rows.at("shop/web-1/web").workloads == 2);
  CHECK(all.rows.at("shop/web-1/web").used.cpu_us == 309);
  CHECK(all.rows.at("shop/web-1/(rest)").used.cpu_us == 101);
  CHECK(all.rows.at("shop/web-1/(rest)").used.pressure_us == 0);
  // One pod alone, by any of its names; the others are one row.
  for (const char* pod : {"u1", "web-1", "shop/web-1"}) {
    CAPTURE(pod);
    CHECK(energy_of(of_pod(file, pod)) == Rows{{"shop/web-1/web", 1050},
                                               {"shop/web-1/ffff00000000", 300},
                                               {"shop/web-1/(rest)", 150},
                                               {"(other pods)", 75},
                                               {"(service)", 30}});
  }
  CHECK(energy_of(of_pod(file, "u2")).at("(unknown)/u2/777777777777") == 70);
  CHECK(energy_of(of_pod(file, "nobody")) == Rows{{"(other pods)", 1575}, {"(service)", 30}});
  // Other reports have each joule once.
  CHECK(energy_of(report_of(file, ReportBy::name_space)) == Rows{{"shop", 1500}, {"(unknown)", 75}, {"(service)", 30}});
}

TEST_CASE("a report of containers is selected by `by`, and one of a pod by `pod`") {
  const WallTime now = wall_from_ns(kNow_s * 1'000'000'000);
  CHECK(parse_report({{"by", "container"}}, now)->usage.by == ReportBy::container);
  const auto one = parse_report({{"pod", "shop/web-1"}}, now);
  REQUIRE(one);
  CHECK(one->usage.by == ReportBy::container);
  CHECK(one->usage.pod == "shop/web-1");
  CHECK_FALSE(parse_report({{"by", "owner"}, {"pod", "web"}}, now));
  CHECK_FALSE(parse_report({{"pod", ""}}, now));
  CHECK_FALSE(parse_report({{"pod", std::string(600, 'x')}}, now));
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  take(file, {whole("a", 1, {with_containers(used("u1", 1'000'000, 500), {{"0123456789ab", 300, 600'000}})})}, kNow_s);
  CHECK(report_text(file, {*one}).error().code == Errc::not_found);  // no container of a pod with that name is recorded
  const json reported = json::parse(report_text(file, {*parse_report({{"pod", "u1"}}, now)}).value());
  CHECK(reported["by"] == "container");
  CHECK(reported["pod"] == "u1");
}

}  // namespace wattle::controller::test::usage
