// Kubernetes objects: any JSON object parses as node and pod; values are finite, not negative, and deterministic.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/json/value.hpp"
#include "common/kube/node.hpp"
#include "common/kube/pod.hpp"

namespace {

bool sane(double value) { return std::isfinite(value) && value >= 0; }
bool sane(const std::optional<double>& value) { return !value || std::isfinite(*value); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const auto object = wattle::SortedJson::read({reinterpret_cast<const char*>(data), size}, {64 << 20, 1 << 30});
  if (object.is_discarded()) return 0;
  const kube::Pod pod = kube::read_pod(object);
  if (!sane(pod.cpu_request_cores) || !sane(pod.memory_request_bytes)) std::abort();
  if (!sane(pod.latency_soft_ms) || !sane(pod.latency_hard_ms)) std::abort();
  if (pod != kube::read_pod(object)) std::abort();
  const kube::Node node = kube::read_node(object);
  if (!sane(node.cpu_cores) || !sane(node.memory_bytes)) std::abort();
  return 0;
}
