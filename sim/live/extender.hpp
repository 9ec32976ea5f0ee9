// extender: the kube-scheduler's side of extender v1: requests priorities like a scheduler, and counts the answers.
// Source   k8s.io/kube-scheduler/extender/v1 (ExtenderArgs with names only, HostPriorityList)
// Units    scores 0..10, times in milliseconds
// Errors   none for the caller: a failed or invalid answer gives neutral scores, as kube-scheduler ignores a failed
//          prioritize
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/result.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::sim::live {

// "http://127.0.0.1:8888" -> host and port.
struct HttpAddress {
  std::string host;
  std::uint16_t port = 0;
};
Result<HttpAddress> parse_http_address(const std::string& url);

// {"Pod": {...}, "Nodes": null, "NodeNames": [...]}
std::string extender_args(const placement::PodSpec& pod, const std::vector<std::string>& node_names);
// Returns scores in the order of node_names; malformed for any answer that a kube-scheduler would reject, or an unknown
// name.
Result<std::vector<std::int64_t>> parse_priorities(std::string_view body, const std::vector<std::string>& node_names);

struct AnswerCounts {
  std::uint64_t asked = 0;
  std::uint64_t advised = 0;     // a node has a score above 0
  std::uint64_t neutral = 0;     // answered, all 0
  std::uint64_t unanswered = 0;  // refused, late, no connection
  std::uint64_t malformed = 0;
};

class Extender {
 public:
  Extender(const HttpAddress& shim, std::chrono::milliseconds deadline, const Clock& clock)
      : client_(shim.host, shim.port), deadline_(deadline), clock_(clock) {}
  // Returns one score per name; all 0 without a valid answer.
  std::vector<std::int64_t> prioritize(const placement::PodSpec& pod, const std::vector<std::string>& node_names);
  const AnswerCounts& counts() const { return counts_; }
  // Quantile over all answers, valid or malformed; 0 if there are none.
  double answer_ms(double quantile) const;

 private:
  http::Client client_;
  std::chrono::milliseconds deadline_;
  const Clock& clock_;
  AnswerCounts counts_;
  std::vector<double> answers_ms_;  // at most kMaxAnswers; the newest replaces the oldest
  std::size_t oldest_ = 0;
};

}  // namespace wattle::sim::live
