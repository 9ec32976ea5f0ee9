// Preemption and the standby's answers: any bytes parse or give a named error; an answer is JSON with a subset of the
// nodes that were asked about, and a neutral answer keeps all of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/json/value.hpp"
#include "shim/preemption.hpp"
#include "shim/standby_process.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = [](const std::string& reply) { return SortedJson::read(reply, {64 << 20, 1 << 30}); };
  for (const std::string path : {"/prioritize", "/filter", "/preempt", "/other"}) {
    const std::string reply = shim::standby_reply("POST " + path + " HTTP/1.1\r\n\r\n" + std::string(text));
    const auto body = reply.find("\r\n\r\n");
    if (body == std::string::npos) std::abort();
    if (reply.starts_with("HTTP/1.1 200 ") && read(reply.substr(body + 4)).is_discarded()) std::abort();
  }
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
