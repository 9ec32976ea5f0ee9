// extender: the kube-scheduler's side of extender v1: asks for priorities as a scheduler does, and counts the answers.
// Source   k8s.io/kube-scheduler/extender/v1 (ExtenderArgs with names only, HostPriorityList)
// Units    scores 0..10, times in milliseconds
// Errors   none outward: who does not answer well gives neutral scores, as kube-scheduler ignores a failed prioritize
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
#include "placement/cluster_view.hpp"

namespace wattle::sim::live {

// "http://127.0.0.1:8888" -> host and port.
struct HttpAddress {
  std::string host;
  std::uint16_t port = 0;
};
Result<HttpAddress> parse_http_address(const std::string& url);

// {"Pod": {...}, "Nodes": null, "NodeNames": [...]}
std::string extender_args(const placement::PodSpec& pod, const std::vector<std::string>& node_names);
// Scores in the order of node_names; malformed for anything a kube-scheduler would reject, or a name that was not asked
// for.
Result<std::vector<std::int64_t>> parse_priorities(std::string_view body, const std::vector<std::string>& node_names);

struct AnswerCounts {
  std::uint64_t asked = 0;
  std::uint64_t advised = 0;     // some node got a score above 0
  std::uint64_t neutral = 0;     // answered, all 0
  std::uint64_t unanswered = 0;  // refused, late, gone
  std::uint64_t malformed = 0;
};

class Extender {
 public:
  Extender(const HttpAddress& shim, std::chrono::milliseconds deadline, const Clock& clock)
      : client_(shim.host, shim.port), deadline_(deadline), clock_(clock) {}
  // One score per name; all 0 when there is no good answer.
  std::vector<std::int64_t> prioritize(const placement::PodSpec& pod, const std::vector<std::string>& node_names);
  const AnswerCounts& counts() const { return counts_; }
  const std::string& last_problem() const { return last_problem_; }
  // Of the answers that came, good or malformed; 0 without any.
  double answer_ms(double quantile) const;

 private:
  http::Client client_;
  std::chrono::milliseconds deadline_;
  const Clock& clock_;
  AnswerCounts counts_;
  std::string last_problem_;
  std::vector<double> answers_ms_;  // at most kMaxAnswers, the newest in place of the oldest
  std::size_t oldest_ = 0;
};

}  // namespace wattle::sim::live
