// env_request: parses the requests of an environment's client, separate from the answers so that it can be fuzzed
// alone.
#include <set>

#include "common/json/value.hpp"
#include "sim/env/env_protocol.hpp"

namespace wattle::sim {

namespace {

using json = SortedJson;

constexpr std::string_view kSyntax =
    R"({"op":"hello"}, {"op":"reset","seed":N}, {"op":"step","action":N} or {"op":"close"})";

Result<std::uint64_t> whole_number(const json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) return fail(Errc::malformed, "request", "has no " + name, std::string(kSyntax));
  if (!found->is_number_unsigned()) return fail(Errc::malformed, name, "is not a whole number of at least 0");
  return found->get<std::uint64_t>();
}

Status only(const json& object, const std::set<std::string>& known) {
  for (const auto& [name, value] : object.items())
    if (!known.contains(name))
      return fail(Errc::malformed, name.substr(0, 64), "is not a field of this request", std::string(kSyntax));
  return {};
}

}  // namespace

Result<EnvRequest> parse_env_request(std::string_view line) {
  if (line.size() > kMaxRequestBytes)
    return fail(Errc::out_of_range, "request", "is longer than " + std::to_string(kMaxRequestBytes) + " bytes");
  const json object = json::read(line, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  if (object.is_discarded() || !object.is_object())
    return fail(Errc::malformed, "request", "is not a JSON object", std::string(kSyntax));
  const auto op = object.find("op");
  if (op == object.end() || !op->is_string())
    return fail(Errc::malformed, "request", "has no op", std::string(kSyntax));
  const std::string name = op->get<std::string>();
  if (name == "hello" || name == "close") {
    WATTLE_CHECK(only(object, {"op"}));
    if (name == "hello") return EnvRequest(HelloRequest{});
    return EnvRequest(CloseRequest{});
  }
  if (name == "reset") {
    WATTLE_CHECK(only(object, {"op", "seed"}));
    WATTLE_TRY(const std::uint64_t seed, whole_number(object, "seed"));
    return EnvRequest(ResetRequest{seed});
  }
  if (name == "step") {
    WATTLE_CHECK(only(object, {"op", "action"}));
    WATTLE_TRY(const std::uint64_t action, whole_number(object, "action"));
    return EnvRequest(StepRequest{action});
  }
  return fail(Errc::malformed, "op", "is unknown", std::string(kSyntax));
}

}  // namespace wattle::sim
