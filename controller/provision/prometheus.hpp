// prometheus: request rates and latencies of workloads, for those whose nodes do not know them, asked of a Prometheus each half minute.
// Source   instant queries by POST /api/v1/query (prometheus_answer.hpp), one after the other; the token's file is read each time
// Gives    traffic(): of one workload what was told last; nothing that is older than three intervals
// Bounds   8 MiB an answer, `timeout` a query. No redirect is followed
// Units    requests/s; shares of requests; seconds
// Errors   none that end it: told in the log with address and key, each key once in ten minutes, counted, and in figures(). What one query
//          told stays until it is too old
// Threads  traffic() and figures() from any; the queries on its own thread, or, of one that was made without, in turn()
#pragma once

#include <array>
#include <condition_variable>
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
  std::string url;                  // "https://host:port/prefix"; empty: nobody is asked
  std::string ca_file, token_file;  // empty: the system's authorities; no token is shown
  std::string rate_query;           // requests/s
  std::string late_query;           // share of requests that take longer than they should; empty: not known
  std::string latency_query;        // 99th percentile, seconds; empty: not known
  Duration target{};                // of latency_query
  Duration interval = std::chrono::seconds(30), timeout = std::chrono::seconds(10);
  bool enabled() const { return !url.empty(); }
};

// What is wrong with the URL; nothing: fine. `url` without a path's last slash is what the API's path is put behind.
Result<http::Url> prometheus_url(const PrometheusConfig& config);

enum class TrafficQuery : std::size_t { rate, late, latency };
inline constexpr std::size_t kTrafficQueries = 3;
std::string_view key_of(TrafficQuery query);  // in the configuration

struct PrometheusFigures {
  struct Query {
    bool asked = false;  // the configuration has it
    std::uint64_t answers = 0, failures = 0;
    std::size_t series = 0, left_out = 0;  // of the last answer
    std::optional<Duration> age;           // of the last answer
    std::string problem;                   // with the last one; empty: none
  };
  std::array<Query, kTrafficQueries> queries;
};

class PrometheusRates final : public TrafficSource {
 public:
  // One that asks for itself; null: none is named. Errors: malformed: the URL.
  static Result<std::unique_ptr<PrometheusRates>> start(const PrometheusConfig& config, const Clock& clock,
                                                        const Log& log);
  // The same without a thread.
  static Result<std::unique_ptr<PrometheusRates>> make(const PrometheusConfig& config, const Clock& clock,
                                                       const Log& log);
  ~PrometheusRates() override;  // what is under way is given up
  void turn();

  Traffic traffic(const std::string& node, const std::string& name) const override;
  PrometheusFigures figures() const;
  const PrometheusConfig& config() const { return config_; }

 private:
  struct LastAnswer {
    std::map<TrafficKey, double> values;
    MonoTime at{};
  };
  PrometheusRates(const PrometheusConfig& config, http::Url url, const Clock& clock, const Log& log);
  void run();
  void ask(TrafficQuery query);
  Result<TrafficValues> answer_of(TrafficQuery query);
  Result<std::string> token() const;
  void failed(TrafficQuery query, const Error& error);
  void answered(TrafficQuery query, TrafficValues values);
  std::optional<double> told(TrafficQuery query, const std::string& node, const std::string& name) const;
  const std::string& text_of(TrafficQuery query) const;

  const PrometheusConfig config_;
  const std::string target_;
  const Clock& clock_;
  const Log& log_;
  http::Client client_;
  LogThrottle throttle_;
  std::thread thread_;

  mutable std::mutex mutex_;  // all below
  std::condition_variable wake_;
  bool stop_ = false;
  std::array<std::optional<LastAnswer>, kTrafficQueries> told_;
  PrometheusFigures figures_;
};

}  // namespace wattle::controller
