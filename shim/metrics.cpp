#include "shim/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <sstream>

namespace wattle::shim {

namespace {
const prometheus::Histogram::BucketBoundaries kSeconds{0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005,
                                                       0.01,   0.02,    0.05,   0.1,   0.2,   0.5};
}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("wattle_shim_requests_total")
                                                          .Help("Extender requests by verb and HTTP status")
                                                          .Register(registry);
  prometheus::Family<prometheus::Counter>& answers =
      prometheus::BuildCounter()
          .Name("wattle_shim_answers_total")
          .Help("Answers by source (controller, repeated, board, neutral) and reason")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& filters =
      prometheus::BuildCounter().Name("wattle_shim_filters_total").Help("Filter answers by reason").Register(registry);
  prometheus::Family<prometheus::Counter>& preemptions = prometheus::BuildCounter()
                                                             .Name("wattle_shim_preemptions_total")
                                                             .Help("Preemption answers by reason")
                                                             .Register(registry);
  prometheus::Counter& spared =
      prometheus::BuildCounter()
          .Name("wattle_shim_preemption_refused_nodes_total")
          .Help("Nodes whose pods were not evicted because the hard latency limit excludes the node")
          .Register(registry)
          .Add({});
  prometheus::Counter& vetoed = prometheus::BuildCounter()
                                    .Name("wattle_shim_vetoed_nodes_total")
                                    .Help("Candidates that filter vetoed")
                                    .Register(registry)
                                    .Add({});
  prometheus::Family<prometheus::Histogram>& seconds = prometheus::BuildHistogram()
                                                           .Name("wattle_shim_request_duration_seconds")
                                                           .Help("Time from a parsed request to its answer")
                                                           .Register(registry);
  prometheus::Family<prometheus::Counter>& refusals = prometheus::BuildCounter()
                                                          .Name("wattle_shim_refused_total")
                                                          .Help("Rejected connections and requests by reason")
                                                          .Register(registry);
  std::mutex refused_mutex;  // serialises concurrent pages
  prometheus::Family<prometheus::Gauge>& breaker_states =
      prometheus::BuildGauge()
          .Name("wattle_shim_breaker_state")
          .Help(
              "1 for the current state of the circuit breaker: closed, open (no requests to the controller), half_open "
              "(probing)")
          .Register(registry);
  prometheus::Counter& breaker_opened = prometheus::BuildCounter()
                                            .Name("wattle_shim_breaker_opened_total")
                                            .Help("Number of times that the circuit breaker opened")
                                            .Register(registry)
                                            .Add({});
  prometheus::Counter& problems = prometheus::BuildCounter()
                                      .Name("wattle_shim_pod_problems_total")
                                      .Help("Annotations and quantities that were ignored")
                                      .Register(registry)
                                      .Add({});
  prometheus::Family<prometheus::Gauge>& board_age = prometheus::BuildGauge()
                                                         .Name("wattle_shim_board_age_seconds")
                                                         .Help("Age of the last board; absent before the first one")
                                                         .Register(registry);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view verb, int status, Duration took) {
  impl_->requests.Add({{"verb", std::string(verb)}, {"code", std::to_string(status)}}).Increment();
  impl_->seconds.Add({{"verb", std::string(verb)}}, kSeconds).Observe(wattle::seconds(took));
}

void Metrics::answer(const Scores& answer, std::size_t problems) {
  impl_->answers.Add({{"source", std::string(to_string(answer.source))}, {"reason", std::string(answer.reason)}})
      .Increment();
  impl_->problems.Increment(static_cast<double>(problems));
}

void Metrics::filtered(const Veto& veto, std::size_t problems) {
  impl_->filters.Add({{"reason", std::string(veto.reason)}}).Increment();
  impl_->vetoed.Increment(static_cast<double>(veto.vetoed.size()));
  impl_->problems.Increment(static_cast<double>(problems));
}

void Metrics::preempted(const Veto& veto) {
  impl_->preemptions.Add({{"reason", std::string(veto.reason)}}).Increment();
  impl_->spared.Increment(static_cast<double>(veto.vetoed.size()));
}

void Metrics::refused(const http::RefusalCounts& counts) {
  for (std::size_t i = 0; i < http::kRefusedNames.size(); ++i) {
    prometheus::Counter& counter = impl_->refusals.Add({{"reason", std::string(http::kRefusedNames[i])}});
    const std::lock_guard lock(impl_->refused_mutex);
    counter.Increment(static_cast<double>(counts.get(static_cast<http::Refused>(i))) - counter.Value());
  }
}

void Metrics::breaker(BreakerState state, std::uint64_t times_opened) {
  for (const BreakerState one : {BreakerState::closed, BreakerState::open, BreakerState::half_open})
    impl_->breaker_states.Add({{"state", std::string(to_string(one))}}).Set(one == state ? 1 : 0);
  const std::lock_guard lock(impl_->refused_mutex);
  impl_->breaker_opened.Increment(static_cast<double>(times_opened) - impl_->breaker_opened.Value());
}

void Metrics::board(std::optional<Duration> age) {
  if (age) impl_->board_age.Add({}).Set(wattle::seconds(*age));
}

std::string Metrics::page() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, impl_->registry.Collect());
  return out.str();
}

}  // namespace wattle::shim
