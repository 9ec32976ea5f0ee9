// usage_rig: records whose parts add up, owners of workloads, and a file in memory, for the usage tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/controller/store_rig.hpp"
#include "tests/unit/sqlite/crash_disk.hpp"

namespace wattle::controller::test::usage {

using sqlite::testing::CrashDisk;

constexpr std::int64_t kHour_s = 3600;
constexpr std::int64_t kNow_s = 1'700'000'000 - 1'700'000'000 % kHour_s;  // start of an hour

// In memory; store_crash_test covers failing disks.
inline StoreFileOptions in_memory() {
  StoreFileOptions options;
  options.path = "store.db";
  options.database.vfs = CrashDisk::kName;
  return options;
}

inline WorkloadValues used(const std::string& name, std::uint64_t energy_uj, std::uint64_t cpu_us = 0,
                           WorkloadKind kind = WorkloadKind::pod) {
  WorkloadValues values = pod_values(name, cpu_us);
  values.energy_uj = energy_uj;
  values.kind = kind;
  return values;
}

// The node's energy is that of its workloads, 3 J idle and 1 J unattributed.
inline StoreItem whole(const std::string& node, std::uint64_t seq, std::vector<WorkloadValues> workloads,
                       EnergySource source = EnergySource::rapl) {
  StoreItem made = item(node, seq, std::move(workloads));
  made.record.node.energy_source = source;
  made.record.node.idle_energy_uj = 3'000'000;
  made.record.node.unattributed_energy_uj = 1'000'000;
  std::uint64_t sum = 4'000'000;
  for (const WorkloadValues& values : made.record.workloads) sum += values.energy_uj.value_or(0);
  made.record.node.energy_uj = sum;
  made.bytes = wire::encode_record(made.record);
  return made;
}

inline void take(StoreFile& file, std::vector<StoreItem> batch, std::int64_t now_s) {
  const Status applied = file.apply(batch, now_s);
  if (!applied) FAIL(applied.error().message());
}

inline PodFacts described(const std::string& uid, const std::string& name_space, const std::string& owner,
                          const std::string& labels) {
  return {uid, name_space, owner, labels, true, "", 0};
}
inline PodFacts placed(const std::string& uid, const std::string& node, std::int64_t at_s,
                       const std::string& owner = "") {
  return {uid, "", owner, "", false, node, at_s};
}

inline UsageReport report_of(StoreFile& file, ReportBy by, std::int64_t since_s = 0, const std::string& label = "") {
  auto report = file.report({since_s, by, label});
  if (!report) FAIL(report.error().message());
  return std::move(*report);
}

inline Energy total(const UsageReport& report) {
  Energy sum = report.nodes.idle;
  sum.add(report.nodes.unattributed);
  for (const auto& [key, row] : report.rows) sum.add({row.used.energy_uj, row.used.estimated_uj});
  return sum;
}

}  // namespace wattle::controller::test::usage
