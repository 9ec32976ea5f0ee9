// Any bytes are a request of kube-scheduler or a named mistake; an ask that was read travels, and its reply is JSON.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/wire/codec.hpp"
#include "shim/extender.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  auto ask = shim::parse_extender_args({reinterpret_cast<const char*>(data), size});
  if (!ask) {
    if (ask.error().subject.empty()) std::abort();
    return 0;
  }
  if (ask->latency_soft_ms && ask->latency_hard_ms && *ask->latency_soft_ms > *ask->latency_hard_ms) std::abort();
  const std::vector<std::int64_t> scores(ask->candidates.size(), 10);
  const auto reply = nlohmann::json::parse(shim::format_scores(ask->candidates, scores), nullptr, false);
  if (!reply.is_array() || reply.size() != ask->candidates.size()) std::abort();
  for (std::size_t i = 0; i < reply.size(); ++i)
    if (reply[i].at("Host") != ask->candidates[i] || reply[i].at("Score") != 10) std::abort();
  if (!wire::decode(wire::encode(wire::Message(*ask)))) std::abort();
  return 0;
}
