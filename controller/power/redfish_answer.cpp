#include "controller/power/redfish_answer.hpp"

#include <algorithm>

#include "common/json/value.hpp"

namespace wattle::controller::power {
namespace {

using Json = SortedJson;
constexpr JsonLimits kLimits{kMostRedfishBytes, std::size_t{16} << 20, 32};
constexpr std::size_t kMostLinkBytes = 512;
constexpr std::size_t kMostLinks = 64;
constexpr std::size_t kMostResetTypes = 64;
constexpr double kMostPowerW = 100'000;

tl::unexpected<Error> not_so(const std::string& subject, const std::string& what) {
  return fail(Errc::malformed, subject, what, "check that the address is a BMC with Redfish");
}

Result<Json> parse_object(std::string_view body, const std::string& subject) {
  WATTLE_TRY(Json document, Json::parse(body, kLimits, subject));
  if (!document.is_object()) return not_so(subject, "the answer is not a JSON object");
  return document;
}

std::string text_of(const Json& value) { return value.is_string() ? value.string() : std::string(); }

// A link; empty if there is none.
Result<std::string> link_of(const Json& value, const std::string& subject) {
  std::string link = text_of(value);
  if (!link.empty() && !is_redfish_path(link))
    return not_so(subject, "the answer has a link that leaves the BMC's own service");
  return link;
}

Result<std::vector<std::string>> links_in(const Json& list, const std::string& subject) {
  std::vector<std::string> links;
  if (!list.is_array()) return links;
  if (list.size() > kMostLinks) return fail(Errc::out_of_range, subject, "the answer has too many links");
  for (const Json& item : list) {
    WATTLE_TRY(std::string link, link_of(item["@odata.id"], subject));
    if (!link.empty()) links.push_back(std::move(link));
  }
  return links;
}

std::vector<std::string> words_in(const Json& list) {
  std::vector<std::string> words;
  if (!list.is_array()) return words;
  for (const Json& item : list)
    if (item.is_string() && words.size() < kMostResetTypes) words.push_back(item.string());
  return words;
}

std::optional<double> watts_in(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto watts = value.get<double>();
  if (!(watts >= 0 && watts <= kMostPowerW)) return std::nullopt;
  return watts;
}

}  // namespace

bool is_redfish_path(std::string_view text) {
  return text.size() <= kMostLinkBytes && text.starts_with("/redfish/") && text.find("//") == std::string_view::npos &&
         text.find("/..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

Result<std::string> parse_only_member(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  WATTLE_TRY(const auto links, links_in(document["Members"], subject));
  if (links.empty()) return fail(Errc::not_found, subject, "the BMC has no system", "set redfish.system");
  if (links.size() > 1)
    return fail(Errc::conflict, subject, "the BMC has " + std::to_string(links.size()) + " systems",
                "set redfish.system, for example to " + links[0]);
  return links[0];
}

Result<RedfishSystem> parse_system(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  RedfishSystem system;
  const std::string state = text_of(document["PowerState"]);
  if (state == "On") system.state = PowerState::on;
  if (state == "Off") system.state = PowerState::off;
  system.turning_on = state == "PoweringOn";
  system.turning_off = state == "PoweringOff";
  const Json& reset = document["Actions"]["#ComputerSystem.Reset"];
  WATTLE_TRY(system.reset_target, link_of(reset["target"], subject));
  WATTLE_TRY(system.reset_info, link_of(reset["@Redfish.ActionInfo"], subject));
  system.reset_types = words_in(reset["ResetType@Redfish.AllowableValues"]);
  if (state.empty() && system.reset_target.empty()) return not_so(subject, "the answer is not a ComputerSystem");
  WATTLE_TRY(system.chassis, links_in(document["Links"]["Chassis"], subject));
  return system;
}

Result<std::vector<std::string>> parse_reset_info(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  const Json& parameters = document["Parameters"];
  if (!parameters.is_array()) return not_so(subject, "the answer is not an ActionInfo");
  for (const Json& parameter : parameters)
    if (text_of(parameter["Name"]) == "ResetType") return words_in(parameter["AllowableValues"]);
  return std::vector<std::string>();
}

Result<RedfishChassis> parse_chassis(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  RedfishChassis chassis;
  WATTLE_TRY(chassis.power, link_of(document["Power"]["@odata.id"], subject));
  WATTLE_TRY(chassis.environment, link_of(document["EnvironmentMetrics"]["@odata.id"], subject));
  const Json& systems = document["Links"]["ComputerSystems"];
  if (systems.is_array()) chassis.systems = systems.size();
  return chassis;
}

std::optional<double> parse_power_w(std::string_view body) {
  const Json document = Json::read(body, kLimits);
  if (const auto watts = watts_in(document["PowerWatts"]["Reading"])) return watts;
  return watts_in(document["PowerControl"][0]["PowerConsumedWatts"]);
}

std::string parse_messages(std::string_view body) {
  const Json document = Json::read(body, kLimits);
  std::string all;
  if (const Json& details = document["error"]["@Message.ExtendedInfo"]; details.is_array())
    for (const Json& detail : details)
      if (const std::string text = text_of(detail["Message"]); !text.empty()) all += (all.empty() ? "" : " ") + text;
  return all.empty() ? text_of(document["error"]["message"]) : all;
}

}  // namespace wattle::controller::power
