#include "controller/provision/prometheus.hpp"

#include <utility>

#include "common/dir.hpp"
#include "common/http/target.hpp"
#include "common/parse.hpp"
#include "common/stopped_within.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kMostAnswerBytes = std::size_t{8} << 20;
constexpr std::size_t kMostTokenBytes = std::size_t{64} << 10;
constexpr Duration kReportedEvery = std::chrono::minutes(10);
constexpr int kIntervalsKept = 3;
constexpr std::array kEveryQuery{TrafficQuery::rate, TrafficQuery::late, TrafficQuery::latency};
constexpr double kMostRps = 1e9, kMostSeconds = 1e6;

double most_of(TrafficQuery query) {
  constexpr double kMost[] = {kMostRps, 1, kMostSeconds};
  return kMost[static_cast<std::size_t>(query)];
}

std::string left_out_text(const TrafficValues& values) {
  const std::pair<std::size_t, const char*> kinds[] = {{values.unnamed, "without label workload"},
                                                       {values.twice, "of a workload with several series"},
                                                       {values.out_of_range, "out of range"}};
  std::string text;
  for (const auto& [count, what] : kinds)
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

}  // namespace

std::string_view key_of(TrafficQuery query) {
  constexpr std::string_view kKeys[] = {"provisioning.prometheus.rate_query", "provisioning.prometheus.late_query",
                                        "provisioning.prometheus.latency_query"};
  return kKeys[static_cast<std::size_t>(query)];
}

Result<http::Url> prometheus_url(const PrometheusConfig& config) {
  const std::string example = "for example https://prometheus.monitoring.svc:9090";
  WATTLE_TRY(http::Url url, http::parse_url(config.url, example));
  if (url.target.find('?') != std::string::npos)
    return fail(Errc::malformed, config.url, "contains a query; Wattle adds it", example);
  while (url.target.ends_with('/')) url.target.pop_back();
  if (url.origin.tls) url.origin.tls->ca_file = config.ca_file;
  return url;
}

PrometheusRates::PrometheusRates(const PrometheusConfig& config, http::Url url, const Clock& clock, const Log& log)
    : config_(config),
      target_(url.target + "/api/v1/query"),
      clock_(clock),
      log_(log),
      client_(std::move(url.origin), kMostAnswerBytes),
      throttle_(kReportedEvery) {
  client_.accept("application/json");
  client_.content_type("application/x-www-form-urlencoded");
  for (const TrafficQuery query : kEveryQuery)
    figures_.queries[static_cast<std::size_t>(query)].asked = !text_of(query).empty();
}

Result<std::unique_ptr<PrometheusRates>> PrometheusRates::make(const PrometheusConfig& config, const Clock& clock,
                                                               const Log& log) {
  http::Url url;
  if (config.enabled()) {
    WATTLE_TRY(url, prometheus_url(config));
  }
  return std::unique_ptr<PrometheusRates>(new PrometheusRates(config, std::move(url), clock, log));
}

Result<std::unique_ptr<PrometheusRates>> PrometheusRates::start(const PrometheusConfig& config, const Clock& clock,
                                                                const Log& log) {
  WATTLE_TRY(auto rates, make(config, clock, log));
  if (config.enabled())
    rates->thread_ = std::jthread([raw = rates.get()](const std::stop_token& stop) {
      do raw->turn(stop);
      while (!stopped_within(stop, raw->config_.interval));
    });
  return rates;
}

PrometheusRates::~PrometheusRates() {
  thread_.request_stop();
  client_.stop();
}

const std::string& PrometheusRates::text_of(TrafficQuery query) const {
  const std::string* const texts[] = {&config_.rate_query, &config_.late_query, &config_.latency_query};
  return *texts[static_cast<std::size_t>(query)];
}

void PrometheusRates::turn(const std::stop_token& stop) {
  for (const TrafficQuery query : kEveryQuery)
    if (!text_of(query).empty()) ask(query, stop);
}

// Returns the token, which is one word, like a service account's. The file's ownership is not checked.
Result<std::string> PrometheusRates::token() const {
  if (config_.token_file.empty()) return std::string();
  WATTLE_TRY(const std::string text, read_file(config_.token_file, kMostTokenBytes));
  std::string word(parse::trim(text));
  if (word.empty() || word.find_first_of(" \r\n\t") != std::string::npos)
    return fail(Errc::malformed, config_.token_file, "contains no token", "use a file with one word");
  return word;
}

Result<TrafficValues> PrometheusRates::answer_of(TrafficQuery query) {
  const std::string subject = config_.url + ", " + std::string(key_of(query));
  auto word = token();
  if (!word) return forward_error(word);
  client_.bearer(std::move(*word));
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config_.timeout);
  const std::string body =
      "query=" + http::percent_encode(text_of(query)) + "&timeout=" + std::to_string(timeout.count()) + "ms";
  auto answer = client_.request("POST", target_, body, timeout);
  if (!answer) return fail(answer.error().code, subject, answer.error().what, answer.error().fix);
  if (answer->status == 401 || answer->status == 403)
    return fail(Errc::denied, subject, "Prometheus returned HTTP " + std::to_string(answer->status),
                "set provisioning.prometheus.token to a token that may query");
  // Prometheus reports its own errors with another status and an explanation in the body.
  auto values = parse_prometheus(answer->body, most_of(query), subject);
  if (answer->status / 100 != 2 && (values || values.error().code == Errc::malformed))
    return fail(Errc::unavailable, subject, "Prometheus returned HTTP " + std::to_string(answer->status),
                "check that the URL is that of Prometheus, with its path prefix");
  return values;
}

void PrometheusRates::ask(TrafficQuery query, const std::stop_token& stop) {
  auto values = answer_of(query);
  if (stop.stop_requested()) return;  // a query cancelled at shutdown is not an error
  if (values)
    answered(query, std::move(*values));
  else
    failed(query, values.error());
}

void PrometheusRates::failed(TrafficQuery query, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    auto& figures = figures_.queries[static_cast<std::size_t>(query)];
    ++figures.failures;
    figures.problem = error.message();
  }
  if (const auto unreported = throttle_.note(std::string(key_of(query)), clock_.mono()))
    log_.warn("prometheus.failed", "a query to Prometheus failed",
              {{"url", config_.url}, {"key", key_of(query)}, {"error", error}, {"times", *unreported}});
}

void PrometheusRates::answered(TrafficQuery query, TrafficValues values) {
  const std::string left_out = left_out_text(values);
  std::size_t series = 0;
  bool back = false;
  {
    const std::lock_guard lock(mutex_);
    auto& figures = figures_.queries[static_cast<std::size_t>(query)];
    ++figures.answers;
    back = !figures.problem.empty() && left_out.empty();
    figures.problem = left_out.empty() ? "" : "skipped: " + left_out + ", as " + values.example;
    figures.series = series = values.values.size();
    figures.left_out = values.no_number + values.unnamed + values.twice + values.out_of_range;
    reported_[static_cast<std::size_t>(query)] = LastAnswer{std::move(values.values), clock_.mono()};
  }
  if (back)
    log_.info("prometheus.recovered", "a query to Prometheus succeeds again",
              {{"key", key_of(query)}, {"series", series}});
  if (left_out.empty()) return;
  if (const auto unreported = throttle_.note(std::string(key_of(query)), clock_.mono()))
    log_.warn("prometheus.series_skipped", "some series of a Prometheus query were skipped",
              {{"url", config_.url},
               {"key", key_of(query)},
               {"what", left_out},
               {"as", values.example},
               {"times", *unreported}});
}

std::optional<double> PrometheusRates::reported(TrafficQuery query, const std::string& node,
                                                const std::string& name) const {
  const auto& reported = reported_[static_cast<std::size_t>(query)];
  if (!reported || clock_.mono() - reported->at > kIntervalsKept * config_.interval) return std::nullopt;
  auto found = reported->values.find({node, name});
  if (found == reported->values.end()) found = reported->values.find({"", name});
  return found == reported->values.end() ? std::nullopt : std::optional(found->second);
}

Traffic PrometheusRates::traffic(const std::string& node, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  Traffic out{reported(TrafficQuery::rate, node, name), reported(TrafficQuery::late, node, name), std::nullopt};
  if (const auto p99_s = reported(TrafficQuery::latency, node, name); p99_s && seconds(config_.target) > 0)
    out.p99_over_target = *p99_s / seconds(config_.target);
  return out;
}

PrometheusFigures PrometheusRates::figures() const {
  const std::lock_guard lock(mutex_);
  PrometheusFigures out = figures_;
  for (std::size_t i = 0; i < kTrafficQueries; ++i)
    if (reported_[i]) out.queries[i].age = clock_.mono() - reported_[i]->at;
  return out;
}

}  // namespace wattle::controller
