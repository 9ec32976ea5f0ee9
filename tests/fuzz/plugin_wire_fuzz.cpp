// Requests of the scheduler plugin: any bytes parse or give a named error. Frames of answers have their announced
// length.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "shim/plugin_wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size >= shim::kPluginLengthBytes) {
    const auto length = shim::plugin_length(bytes);
    if (length && (*length == 0 || *length > shim::kPluginFrameBytes)) std::abort();
  }
  const auto request = shim::decode_plugin_request(bytes);
  std::string frame;
  if (!request) {
    if (request.error().subject.empty()) std::abort();
    frame = shim::encode_plugin_refusal(request.error());
  } else if (const auto* nodes = std::get_if<shim::NodesWanted>(&*request)) {
    if (!(nodes->cpu_request_cores >= 0)) std::abort();
    frame = shim::encode_nodes(nodes->request_id, std::vector<std::string>{});
  } else {
    const auto& scores = std::get<shim::ScoresWanted>(*request);
    if (scores.candidates.size() > size) std::abort();
    frame = shim::encode_nodes(scores.request_id, scores.candidates);
  }
  const auto length = shim::plugin_length(frame);
  if (!length || *length != frame.size() - shim::kPluginLengthBytes) std::abort();
  return 0;
}
