#include "sim/live/extender.hpp"

#include <algorithm>
#include <map>

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/stats/quantile.hpp"

namespace wattle::sim::live {

using json = SortedJson;

namespace {

constexpr std::size_t kMaxAnswers = 100'000;
constexpr std::int64_t kMaxPriority = 10;

// Formats as in a manifest: "20", "0.5".
std::string annotation(double value) {
  std::string text = json(value).dump();
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

Result<HttpAddress> parse_http_address(const std::string& url) {
  const std::string fix = "write it as http://127.0.0.1:8888";
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return fail(Errc::malformed, url, "is not an http:// address", fix);
  std::string_view rest = std::string_view(url).substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return fail(Errc::malformed, url, "has no port", fix);
  const auto port = parse::integer<std::uint16_t>(rest.substr(colon + 1));
  if (!port || *port == 0) return fail(Errc::malformed, url, "has no port from 1 to 65535", fix);
  return HttpAddress{std::string(rest.substr(0, colon)), *port};
}

std::string extender_args(const placement::PodSpec& pod, const std::vector<std::string>& node_names) {
  json annotations = json::object();
  if (pod.latency_soft_ms) annotations["wattle.dev/latency-soft-ms"] = annotation(*pod.latency_soft_ms);
  if (pod.latency_hard_ms) annotations["wattle.dev/latency-hard-ms"] = annotation(*pod.latency_hard_ms);
  if (!pod.latency_target.empty()) annotations["wattle.dev/latency-target"] = pod.latency_target;
  // Has no labels: the simulated scheduler does not spread replicas by default, so the shim need not handle it.
  json metadata{{"name", pod.name},
                {"namespace", pod.pod_namespace},
                {"uid", pod.uid},
                {"annotations", annotations},
                {"ownerReferences",
                 {{{"apiVersion", "apps/v1"},
                   {"kind", "ReplicaSet"},
                   {"name", pod.app + "-5d9c7b"},
                   {"uid", "00000000-0000-4000-8000-000000000001"},
                   {"controller", true}}}}};
  json requests{{"cpu", std::to_string(static_cast<long long>(pod.request.cpu_cores * 1000 + 0.5)) + "m"},
                {"memory", std::to_string(static_cast<long long>(pod.request.memory_bytes))}};
  json container{{"name", pod.app}, {"image", pod.app + ":1"}, {"resources", {{"requests", requests}}}};
  json spec{{"containers", json::array({container})}, {"schedulerName", "wattle"}};
  json pod_json{{"metadata", metadata}, {"spec", spec}, {"status", {{"phase", "Pending"}}}};
  return json{{"Pod", pod_json}, {"Nodes", nullptr}, {"NodeNames", node_names}}.dump();
}

Result<std::vector<std::int64_t>> parse_priorities(std::string_view body, const std::vector<std::string>& node_names) {
  const auto malformed = [](const std::string& what) {
    return fail(Errc::malformed, "prioritize answer", what, "a list [{\"Host\": name, \"Score\": 0..10}]");
  };
  const json answer = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!answer.is_array()) return malformed("is not a JSON list");
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < node_names.size(); ++i) index[node_names[i]] = i;
  std::vector<std::int64_t> scores(node_names.size(), 0);
  for (const json& entry : answer) {
    if (!entry.is_object() || !entry.contains("Host") || !entry["Host"].is_string() || !entry.contains("Score"))
      return malformed("has an entry without Host and Score");
    const auto host = entry["Host"].get<std::string>();
    if (!entry["Score"].is_number_integer()) return malformed("gives " + host + " a score that is not an integer");
    const auto found = index.find(host);
    if (found == index.end()) return malformed("names " + host + ", which was not requested");
    const auto score = entry["Score"].get<std::int64_t>();
    if (score < 0 || score > kMaxPriority)
      return malformed("gives " + host + " the score " + std::to_string(score) + ", not 0 to 10");
    scores[found->second] = score;
  }
  return scores;
}

std::vector<std::int64_t> Extender::prioritize(const placement::PodSpec& pod,
                                               const std::vector<std::string>& node_names) {
  const std::vector<std::int64_t> neutral(node_names.size(), 0);
  ++counts_.asked;
  const std::string body = extender_args(pod, node_names);
  const MonoTime asked = clock_.mono();
  auto answer = client_.request("POST", "/prioritize", body, deadline_);
  const double took_ms = seconds(clock_.mono() - asked) * 1e3;
  if (!answer) {
    ++counts_.unanswered;
    return neutral;
  }
  if (answers_ms_.size() < kMaxAnswers) {
    answers_ms_.push_back(took_ms);
  } else {
    answers_ms_[oldest_] = took_ms;
    oldest_ = (oldest_ + 1) % kMaxAnswers;
  }
  if (answer->status != 200) {
    ++counts_.malformed;
    return neutral;
  }
  auto scores = parse_priorities(answer->body, node_names);
  if (!scores) {
    ++counts_.malformed;
    return neutral;
  }
  const bool advised = std::any_of(scores->begin(), scores->end(), [](std::int64_t s) { return s > 0; });
  ++(advised ? counts_.advised : counts_.neutral);
  return *scores;
}

double Extender::answer_ms(double quantile) const { return stats::quantile(answers_ms_, quantile).value_or(0); }

}  // namespace wattle::sim::live
