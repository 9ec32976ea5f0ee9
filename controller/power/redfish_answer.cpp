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

// The value at the end of the path; null if there is none.
const Json* find(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = &from;
  for (const std::string_view key : path) {
    if (at == nullptr) return nullptr;
    at = at->member(key);
  }
  return at;
}

std::string text_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* found = find(from, path);
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

// A link; empty if there is none.
Result<std::string> link_at(const Json& from, std::initializer_list<std::string_view> path,
                            const std::string& subject) {
  std::string link = text_at(from, path);
  if (!link.empty() && !is_redfish_path(link))
    return not_so(subject, "the answer has a link that leaves the BMC's own service");
  return link;
}

Result<std::vector<std::string>> links_in(const Json* list, const std::string& subject) {
  std::vector<std::string> links;
  if (list == nullptr || !list->is_array()) return links;
  if (list->size() > kMostLinks) return fail(Errc::out_of_range, subject, "the answer has too many links");
  for (const Json& item : *list) {
    WATTLE_TRY(std::string link, link_at(item, {"@odata.id"}, subject));
    if (!link.empty()) links.push_back(std::move(link));
  }
  return links;
}

std::vector<std::string> words_in(const Json* list) {
  std::vector<std::string> words;
  if (list == nullptr || !list->is_array()) return words;
  for (const Json& item : *list)
    if (item.is_string() && words.size() < kMostResetTypes) words.push_back(item.string());
  return words;
}

std::optional<double> watts_in(const Json* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto watts = value->get<double>();
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
  WATTLE_TRY(const auto links, links_in(document.member("Members"), subject));
  if (links.empty()) return fail(Errc::not_found, subject, "the BMC has no system", "set redfish.system");
  if (links.size() > 1)
    return fail(Errc::conflict, subject, "the BMC has " + std::to_string(links.size()) + " systems",
                "set redfish.system, for example to " + links[0]);
  return links[0];
}

Result<RedfishSystem> parse_system(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  RedfishSystem system;
  const std::string state = text_at(document, {"PowerState"});
  if (state == "On") system.state = PowerState::on;
  if (state == "Off") system.state = PowerState::off;
  system.turning_on = state == "PoweringOn";
  system.turning_off = state == "PoweringOff";
  const Json* reset = find(document, {"Actions", "#ComputerSystem.Reset"});
  if (reset != nullptr) {
    WATTLE_TRY(system.reset_target, link_at(*reset, {"target"}, subject));
    WATTLE_TRY(system.reset_info, link_at(*reset, {"@Redfish.ActionInfo"}, subject));
    system.reset_types = words_in(reset->member("ResetType@Redfish.AllowableValues"));
  }
  if (state.empty() && system.reset_target.empty()) return not_so(subject, "the answer is not a ComputerSystem");
  WATTLE_TRY(system.chassis, links_in(find(document, {"Links", "Chassis"}), subject));
  return system;
}

Result<std::vector<std::string>> parse_reset_info(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  const Json* parameters = document.member("Parameters");
  if (parameters == nullptr || !parameters->is_array()) return not_so(subject, "the answer is not an ActionInfo");
  for (const Json& parameter : *parameters)
    if (text_at(parameter, {"Name"}) == "ResetType") return words_in(parameter.member("AllowableValues"));
  return std::vector<std::string>();
}

Result<RedfishChassis> parse_chassis(std::string_view body, const std::string& subject) {
  WATTLE_TRY(const Json document, parse_object(body, subject));
  RedfishChassis chassis;
  WATTLE_TRY(chassis.power, link_at(document, {"Power", "@odata.id"}, subject));
  WATTLE_TRY(chassis.environment, link_at(document, {"EnvironmentMetrics", "@odata.id"}, subject));
  const Json* systems = find(document, {"Links", "ComputerSystems"});
  if (systems != nullptr && systems->is_array()) chassis.systems = systems->size();
  return chassis;
}

std::optional<double> parse_power_w(std::string_view body) {
  const Json document = Json::read(body, kLimits);
  if (const auto watts = watts_in(find(document, {"PowerWatts", "Reading"}))) return watts;
  const Json* controls = document.member("PowerControl");
  if (controls == nullptr || !controls->is_array() || controls->empty()) return std::nullopt;
  return watts_in(controls->front().member("PowerConsumedWatts"));
}

std::string parse_messages(std::string_view body) {
  const Json document = Json::read(body, kLimits);
  std::string all;
  if (const Json* details = find(document, {"error", "@Message.ExtendedInfo"}); details != nullptr)
    if (details->is_array())
      for (const Json& detail : *details)
        if (const std::string text = text_at(detail, {"Message"}); !text.empty())
          all += (all.empty() ? "" : " ") + text;
  return all.empty() ? text_at(document, {"error", "message"}) : all;
}

}  // namespace wattle::controller::power
