// metric_families: what /metrics tells, put together family by family.
// Threads  single owner
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  // In Prometheus' text format.
  std::string text() const;

 private:
  void one(const char* name, const char* help, prometheus::MetricType type, double value) {
    add(family(name, help, type), {}, value);
  }
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace wattle::controller
