// prometheus: queries a Prometheus every half minute for the request rates and latencies of workloads that nodes do not
// measure.
// Source   instant queries by POST /api/v1/query (prometheus_answer.hpp), one after the other; reads the token file for
//          each query
// Gives    traffic(): the last values of one workload; values older than three intervals are dropped
// Bounds   8 MiB per answer, `timeout` per query. Does not follow redirects
// Units    requests/s; shares of requests; seconds
// Errors   none are fatal: logged with address and key, at most once in ten minutes per key, counted, and in figures().
//          The last values of a query stay until they are too old
// Threads  traffic() and figures() from any; queries run on its own thread, or in turn() if made without a thread
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/http/url.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/provision/prometheus_answer.hpp"
#include "controller/provision/traffic.hpp"

namespace wattle::controller {

struct PrometheusConfig {
  std::string url;                  // "https://host:port/prefix"; empty: disabled
  std::string ca_file, token_file;  // empty: the system's authorities; no token
  std::string rate_query;           // requests/s
  std::string late_query;           // share of requests that take too long; empty: unknown
  std::string latency_query;        // 99th percentile, seconds; empty: unknown
  Duration target{};                // limit for latency_query
  Duration interval = std::chrono::seconds(30);
  Duration timeout = std::chrono::seconds(10);  // not from the file: a query that takes longer overloads Prometheus
  bool enabled() const { return !url.empty(); }
};

// Parses and checks the URL. The API's path is appended to its path without a trailing slash.
Result<http::Url> prometheus_url(const PrometheusConfig& config);

enum class TrafficQuery : std::size_t { rate, late, latency };
inline constexpr std::size_t kTrafficQueries = 3;
std::string_view key_of(TrafficQuery query);  // key in the configuration

struct PrometheusFigures {
  struct Query {
    bool asked = false;  // the query is configured
    std::uint64_t answers = 0, failures = 0;
    std::size_t series = 0, left_out = 0;  // of the last answer
    std::optional<Duration> age;           // of the last answer
    std::string problem;                   // of the last answer; empty if none
  };
  std::array<Query, kTrafficQueries> queries;
};

class PrometheusRates final : public TrafficSource {
 public:
  // Makes a source that queries on its own thread; without a URL it knows no traffic. Errors: malformed (the URL).
  static Result<std::unique_ptr<PrometheusRates>> start(const PrometheusConfig& config, const Clock& clock,
                                                        const Log& log);
  // Makes a source without a thread; call turn().
  static Result<std::unique_ptr<PrometheusRates>> make(const PrometheusConfig& config, const Clock& clock,
                                                       const Log& log);
  ~PrometheusRates() override;  // cancels the current query
  void turn(const std::stop_token& stop = {});

  Traffic traffic(const std::string& node, const std::string& name) const override;
  PrometheusFigures figures() const;
  const PrometheusConfig& config() const { return config_; }

 private:
  struct LastAnswer {
    std::map<TrafficKey, double> values;
    MonoTime at{};
  };
  PrometheusRates(const PrometheusConfig& config, http::Url url, const Clock& clock, const Log& log);
  void ask(TrafficQuery query, const std::stop_token& stop);
  Result<TrafficValues> answer_of(TrafficQuery query);
  Result<std::string> token() const;
  void failed(TrafficQuery query, const Error& error);
  void answered(TrafficQuery query, TrafficValues values);
  std::optional<double> reported(TrafficQuery query, const std::string& node, const std::string& name) const;
  const std::string& text_of(TrafficQuery query) const;

  const PrometheusConfig config_;
  const std::string target_;
  const Clock& clock_;
  const Log& log_;
  http::Client client_;
  LogThrottle throttle_;
  mutable std::mutex mutex_;  // guards the next two
  std::array<std::optional<LastAnswer>, kTrafficQueries> reported_;
  PrometheusFigures figures_;
  std::jthread thread_;
};

}  // namespace wattle::controller
