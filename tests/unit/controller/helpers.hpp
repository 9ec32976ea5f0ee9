// helpers: records and Hello messages that the controller's tests share.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "common/sample.hpp"
#include "common/wire/messages.hpp"

namespace wattle::controller::test {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// An interval of one second that ends at `seq` seconds of the node's clock: 4 of 8 cores used, 100 W.
inline Record record_at(std::uint64_t seq, std::uint64_t incarnation = 1) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  record.mono_ns = static_cast<std::int64_t>(seq) * kSecondNs;
  record.interval_ns = kSecondNs;
  record.node.cpu_used_cores = 4;
  record.node.cpu_cores = 8;
  record.node.memory_used_bytes = std::uint64_t{1} << 30;
  record.node.memory_total_bytes = std::uint64_t{8} << 30;
  record.node.energy_source = EnergySource::rapl;
  record.node.energy_uj = 100'000'000;
  return record;
}

// The same for a named node: one watt more for each step of its number, because equal nodes get no advice.
inline Record record_of(const std::string& node, std::uint64_t seq, std::uint64_t incarnation = 1) {
  Record record = record_at(seq, incarnation);
  *record.node.energy_uj +=
      1'000'000 * std::strtoull(node.c_str() + std::min<std::size_t>(1, node.size()), nullptr, 10);
  return record;
}

inline WorkloadValues pod_values(const std::string& uid, std::uint64_t cpu_usage_us) {
  WorkloadValues values;
  values.cgroup_id = 7;
  values.kind = WorkloadKind::pod;
  values.name = uid;
  values.cpu_usage_us = cpu_usage_us;
  values.energy_uj = 5'000'000;
  return values;
}

inline wire::Hello hello_of(const std::string& node, std::uint64_t incarnation = 1) {
  wire::Hello hello;
  hello.node = node;
  hello.incarnation = incarnation;
  hello.agent_version = "0.1.0";
  hello.cpu_cores = 8;
  hello.memory_bytes = std::uint64_t{8} << 30;
  hello.findings = {"rapl: lost: no powercap zones (load intel_rapl_common)", "psi: ok"};
  return hello;
}

inline wire::Ask ask_for(const std::string& uid, std::vector<std::string> candidates) {
  wire::Ask ask;
  ask.pod_uid = uid;
  ask.pod_name = uid + "-name";
  ask.pod_namespace = "default";
  ask.app = "ReplicaSet/web nginx";
  ask.cpu_request_cores = 1;
  ask.memory_request_bytes = 64 << 20;
  ask.candidates = std::move(candidates);
  return ask;
}

}  // namespace wattle::controller::test
