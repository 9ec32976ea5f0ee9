// Preemption and the standby's answers: any bytes parse or give a named error; an answer is JSON with a subset of the
// nodes that were asked about, and a neutral answer keeps all of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/json/value.hpp"
#include "shim/neutral_answer.hpp"
#include "shim/preemption.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = [](const std::string& reply) { return SortedJson::read(reply, {64 << 20, 1 << 30}); };
  for (const char* path : {"/prioritize", "/filter", "/preempt", "/other"})
    if (const auto reply = shim::neutral_answer(path, text); reply && read(*reply).is_discarded()) std::abort();
  const auto preemption = shim::parse_preemption_args(text);
  if (!preemption) {
    if (preemption.error().subject.empty()) std::abort();
    return 0;
  }
  if (preemption->nodes.size() != preemption->meta_victims.size()) std::abort();
  const auto all = read(shim::format_preemption(*preemption, preemption->nodes));
  if (!all.is_object() || !all.at("NodeNameToMetaVictims").is_object()) std::abort();
  for (const std::string& node : preemption->nodes)
    if (!all.at("NodeNameToMetaVictims").contains(node)) std::abort();
  const auto none = read(shim::format_preemption(*preemption, {}));
  if (!none.is_object() || !none.at("NodeNameToMetaVictims").empty()) std::abort();
  return 0;
}
