// metric_families: builds the metrics of /metrics, family by family.
// Threads  single owner
#pragma once

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/stats/bucket_counts.hpp"

namespace wattle::controller {

class Families {
 public:
  void counter(const char* name, const char* help, double value) {
    one(name, help, prometheus::MetricType::Counter, value);
  }
  void counter(const char* name, const char* help, std::uint64_t value) {
    counter(name, help, static_cast<double>(value));
  }
  void gauge(const char* name, const char* help, double value) {
    one(name, help, prometheus::MetricType::Gauge, value);
  }
  void gauge(const char* name, const char* help, std::optional<double> value) {
    if (value) gauge(name, help, *value);
  }
  prometheus::MetricFamily& family(const char* name, const char* help, prometheus::MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }
  static void add(prometheus::MetricFamily& family, std::vector<prometheus::ClientMetric::Label> labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    family.metric.push_back(std::move(metric));
  }
  // Sets 1 for the current state and 0 for all others.
  template <class States>
  void state(const char* name, const char* help, const char* label, const States& states, std::string_view in) {
    prometheus::MetricFamily& each = family(name, help, prometheus::MetricType::Gauge);
    for (const auto& one : states) add(each, {{label, std::string(one)}}, one == in ? 1.0 : 0.0);
  }
  template <std::size_t N>
  void histogram(const char* name, const char* help, const stats::BucketCounts<N>& counts) {
    prometheus::ClientMetric metric;
    for (std::size_t i = 0; i < N; ++i) metric.histogram.bucket.push_back({counts.up_to(i), counts.bounds()[i]});
    metric.histogram.bucket.push_back({counts.count(), std::numeric_limits<double>::infinity()});
    metric.histogram.sample_count = counts.count();
    metric.histogram.sample_sum = counts.sum();
    family(name, help, prometheus::MetricType::Histogram).metric.push_back(std::move(metric));
  }
  // The metrics in Prometheus' text format.
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  void one(const char* name, const char* help, prometheus::MetricType type, double value) {
    add(family(name, help, type), {}, value);
  }
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace wattle::controller
