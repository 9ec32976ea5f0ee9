// Extender requests: any bytes parse or give a named error; a parsed ask survives a round trip, and its replies are
// JSON with each candidate once, or full nodes as received.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/json/value.hpp"
#include "common/wire/codec.hpp"
#include "shim/extender.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto ask = shim::parse_extender_args(text);
  const auto names = shim::names_of(text);
  if (!ask) {
    if (ask.error().subject.empty()) std::abort();
    return 0;
  }
  if (ask->latency_soft_ms && ask->latency_hard_ms && *ask->latency_soft_ms > *ask->latency_hard_ms) std::abort();
  std::vector<std::int64_t> scores(ask->candidates.size());
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<std::int64_t>(ask->candidates[i].size() % 11);
  const auto reply = wattle::SortedJson::read(shim::format_scores(ask->candidates, scores), {64 << 20, 1 << 30});
  if (!reply.is_array()) std::abort();
  std::size_t named = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == 0) continue;
    if (named == reply.size()) std::abort();
    if (reply[named].at("Host") != ask->candidates[i] || reply[named].at("Score") != scores[i]) std::abort();
    ++named;
  }
  if (named != reply.size()) std::abort();
  std::map<std::string, std::string> vetoed;
  std::vector<std::string> passed;
  for (const std::string& node : ask->candidates)
    node.size() % 2 == 0 ? passed.push_back(node) : void(vetoed[node] = node);
  const auto filtered = wattle::SortedJson::read(shim::format_filter(passed, vetoed), {64 << 20, 1 << 30});
  if (!filtered.is_object() || filtered.at("NodeNames").size() != passed.size() || filtered.at("Error") != "")
    std::abort();
  if (filtered.at("FailedAndUnresolvableNodes").size() != vetoed.size()) std::abort();
  // A key of the object has the value of that member.
  const auto whole = wattle::SortedJson::parse(text);
  for (const char* key : {"Nodes", "NodeNames", "Pod"}) {
    const auto raw = shim::raw_member(text, key);
    if (!raw) continue;
    const auto value = wattle::SortedJson::read(*raw, {64 << 20, 1 << 30});
    if (!whole.contains(key) || value != whole[key]) std::abort();
    if (wattle::SortedJson::read(shim::format_filter_nodes(*raw), {64 << 20, 1 << 30}).at("Nodes") != value)
      std::abort();
  }
  if (!names.empty() && names != ask->candidates) std::abort();
  if (!wire::decode(wire::encode(wire::Message(*ask)))) std::abort();
  return 0;
}
