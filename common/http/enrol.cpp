#include "common/http/enrol.hpp"

#include <algorithm>

#include "common/json/value.hpp"

namespace wattle::http {
namespace {

using json = SortedJson;
constexpr std::chrono::milliseconds kEnrolPatience{10'000};
constexpr std::size_t kPublicKeyDigits = 40;

Error refused_enrolment(const std::string& url, const Answer& answer) {
  const json body = json::read(answer.body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const bool reported = body.is_object() && body.contains("error") && body["error"].is_string();
  return {answer.status == 409 ? Errc::conflict : Errc::denied, url,
          reported ? body["error"].get<std::string>() : "the controller returned " + std::to_string(answer.status), ""};
}

}  // namespace

Result<Enrolled> enrol(Client& client, const std::string& url, const std::string& path, const std::string& public_key,
                       const std::string& node) {
  json asked{{"public_key", public_key}};
  if (!node.empty()) asked["node"] = node;
  WATTLE_TRY(const auto answer, client.request("POST", path, asked.dump(), kEnrolPatience));
  if (answer.status != 200) return tl::unexpected<Error>(refused_enrolment(url, answer));
  const json body = json::read(answer.body, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  Enrolled out;
  if (body.is_object() && body.contains("server_keys") && body["server_keys"].is_array())
    for (const json& key : body["server_keys"])
      if (key.is_string()) out.server_keys.push_back(key.get<std::string>());
  const auto is_key = [](const std::string& key) { return key.size() == kPublicKeyDigits; };
  if (out.server_keys.empty() || out.server_keys.size() > 2 ||
      !std::all_of(out.server_keys.begin(), out.server_keys.end(), is_key))
    return fail(Errc::malformed, url, "the answer is not that of a Wattle controller", "check the address");
  out.node = body.contains("node") && body["node"].is_string() ? body["node"].get<std::string>() : "";
  if (body.contains("valid_s") && body["valid_s"].is_number_integer())
    out.valid_s = body["valid_s"].get<std::int64_t>();
  return out;
}

}  // namespace wattle::http
