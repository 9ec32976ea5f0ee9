// record: what pods requested before `wattle provision set` wrote, what it set, and what became of it.
// Source   ConfigMap wattle-requests of the pods' namespace: one key a pod ("pod.UID"), `held`, `said`; each JSON
// Rules    it is written before the first write to a pod, and read again before each; what cannot be read is an error: nothing is set then
// Units    quantities as Kubernetes writes them, verbatim; seconds since 1970
// Errors   malformed, naming the ConfigMap's key
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/view.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

inline constexpr const char* kRecordName = "wattle-requests";
inline constexpr std::size_t kMostRecordPods = 1500;  // a ConfigMap holds a mebibyte

// CPU and memory of one container; absent: there is none.
struct Sizes {
  std::map<std::string, std::string> requests, limits;
  static Sizes of(const View& resources);
  // As amounts: "1" is "1000m".
  bool same_as(const Sizes& other) const;
  // Of requests those that differ.
  Sizes changed_from(const Sizes& other) const;
  // "cpu 900m, memory 512Mi"
  std::string text() const;
};
std::optional<double> amount_of(const std::map<std::string, std::string>& sizes, const std::string& resource);

struct PodRecord {
  std::string name, workload, container;
  Sizes original;         // before the first write; what somebody else writes later is the new one
  Sizes was, set;         // before the last write, and what it was to set
  Sizes refused;          // what its API server or kubelet did not take; empty: nothing
  std::int64_t at_s = 0;  // of the last write, ours or somebody else's
  bool foreign = false;   // it was somebody else's
  std::string state, why;
};

struct Said {
  std::string state, why;
  bool operator==(const Said&) const = default;
};

struct RequestRecord {
  std::map<std::string, PodRecord> pods;  // by UID
  std::set<std::string> held;             // workloads that were restored, and are let alone until they are set by hand
  std::map<std::string, Said> said;       // of workloads
};

Result<RequestRecord> read_record(const OrderedJson& config_map);
// The ConfigMap's `data`.
OrderedJson record_data(const RequestRecord& record);

}  // namespace wattle::cli
