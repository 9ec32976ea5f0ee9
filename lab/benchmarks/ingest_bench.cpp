// ingest_bench: measures what a record of 101 values costs the controller, per step of its processing. The argument is
// the number of records in a message.
// Units    time per message; items_per_second: records
// See      lab/benchmarks/load.py for the whole path over real sockets
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/wire/codec.hpp"
#include "controller/ingest/validate.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/store/store_file.hpp"
#include "tests/unit/controller/helpers.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

constexpr std::size_t kServices = 17;

Record record_of(std::uint64_t seq) {
  Record record = test::record_at(seq);
  record.node.idle_energy_uj = 60'000'000;
  record.node.unattributed_energy_uj = 1'000'000;
  record.node.domains = {{"package-0", 100'000'000, false, EnergySource::rapl}};
  record.node.pressure.cpu_some_ratio = 0.125;
  for (std::size_t i = 0; i < kServices; ++i) {
    WorkloadValues service;
    service.cgroup_id = 1000 + i;
    service.kind = WorkloadKind::service;
    service.name = "application-" + std::to_string(i) + ".service";
    service.cpu_usage_us = 20'000 + i + seq;
    service.energy_uj = 2'000'000 + i;
    service.memory_bytes = 100'000'000 + i;
    service.pressure.cpu_some_ratio = 0.01;
    record.workloads.push_back(std::move(service));
  }
  return record;
}

std::vector<EncodedRecord> encoded(std::size_t count) {
  std::vector<EncodedRecord> records;
  for (std::uint64_t seq = 1; seq <= count; ++seq) records.push_back({{1, seq}, wire::encode_record(record_of(seq))});
  return records;
}

void count(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * state.range(0)); }

void decode(benchmark::State& state) {
  const std::string bytes = wire::encode_samples(encoded(static_cast<std::size_t>(state.range(0))));
  std::vector<std::string_view> spans;
  for (auto _ : state) {
    spans.clear();
    benchmark::DoNotOptimize(wire::decode(bytes, {}, &spans));
  }
  count(state);
  state.SetLabel(std::to_string(bytes.size()) + " bytes");
}
BENCHMARK(decode)->Arg(1)->Arg(4)->Arg(64);

void validate_record(benchmark::State& state) {
  Record record = record_of(1);
  for (auto _ : state) benchmark::DoNotOptimize(validate(record));
  count(state);
}
BENCHMARK(validate_record)->Arg(1);

void apply_to_state(benchmark::State& state) {
  ClusterState cluster(std::chrono::seconds(30));
  cluster.greet(test::hello_of("node-1"));
  Record record = record_of(1);
  for (auto _ : state) {
    ++record.seq;
    record.mono_ns += test::kSecondNs;
    benchmark::DoNotOptimize(cluster.apply("node-1", record, mono_from_ns(record.mono_ns)));
  }
  count(state);
}
BENCHMARK(apply_to_state)->Arg(1);

// Stores the given number of records of each of 250 nodes in one transaction. Uses /dev/shm to exclude the disk's sync
// time.
void store(benchmark::State& state) {
  std::string pattern = "/dev/shm/wattle-bench-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return state.SkipWithError("no temporary folder");
  StoreFileOptions options;
  options.path = pattern + "/store.db";
  auto file = StoreFile::open_(options);
  if (!file) return state.SkipWithError(file.error().message().c_str());
  const auto per_node = static_cast<std::uint64_t>(state.range(0));
  constexpr std::uint64_t kNodes = 250;
  std::uint64_t seq = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<StoreItem> items;
    for (std::uint64_t node = 0; node < kNodes; ++node)
      for (std::uint64_t i = 1; i <= per_node; ++i) {
        Record record = record_of(seq + i);
        std::string bytes = wire::encode_record(record);
        items.push_back({"node-" + std::to_string(node), {1, seq + i}, false, std::move(bytes), std::move(record), {}});
      }
    seq += per_node;
    state.ResumeTiming();
    if (const auto done = file->apply(items, 1'000'000 + static_cast<std::int64_t>(seq)); !done)
      return state.SkipWithError(done.error().message().c_str());
    if (const auto moved = file->checkpoint_if_long(); !moved)
      return state.SkipWithError(moved.error().message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kNodes * per_node));
  std::filesystem::remove_all(pattern);
}
BENCHMARK(store)->Arg(1)->Arg(4);

}  // namespace
