// record: keeps the requests of pods before `wattle provision set` wrote, the values that it set, and the result.
// Source   ConfigMap wattle-requests of the pods' namespace: one key per pod ("pod.UID"), `held`, `said`; each JSON
// Rules    written before the first write to a pod, and read before each write; an unreadable record is an error, and
//          then no pod is changed
// Units    quantities as in Kubernetes, verbatim; seconds since 1970
// Errors   malformed, naming the ConfigMap's key
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/view.hpp"
#include "common/result.hpp"

namespace wattle::cli {

inline constexpr const char* kRecordName = "wattle-requests";
inline constexpr std::size_t kMostRecordPods = 1500;  // a ConfigMap has at most 1 MiB

// CPU and memory of one container; a missing entry means no request or limit.
struct Sizes {
  std::map<std::string, std::string> requests, limits;
  static Sizes of(const View& resources);
  // Compares amounts: "1" equals "1000m".
  bool same_as(const Sizes& other) const;
  // Returns the requests that differ.
  Sizes changed_from(const Sizes& other) const;
  // "cpu 900m, memory 512Mi"
  std::string text() const;
};
// "250m" of cpu, "512Mi" of memory, rounded up.
std::string quantity_text(const std::string& resource, double amount);
std::optional<double> amount_of(const std::map<std::string, std::string>& sizes, const std::string& resource);

struct PodRecord {
  std::string name, workload, container;
  Sizes original;         // before the first write, or as last written by another client
  Sizes was, set;         // before the last write; the target of the last write
  Sizes refused;          // refused by the API server or kubelet; empty: none
  std::int64_t at_s = 0;  // of the last write, by us or another client
  bool foreign = false;   // the last write was another client's
  std::string state, why;
};

struct Said {
  std::string state, why;
  bool operator==(const Said&) const = default;
};

struct RequestRecord {
  std::map<std::string, PodRecord> pods;  // by UID
  std::set<std::string> held;             // restored workloads, which are not set again except by hand
  std::map<std::string, Said> said;       // by workload
};

Result<RequestRecord> read_record(const OrderedJson& config_map);
// Returns the ConfigMap's `data`.
OrderedJson record_data(const RequestRecord& record);

}  // namespace wattle::cli
