#include "controller/web/known_arguments.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/parse.hpp"
#include "controller/known_fields.hpp"

namespace wattle::controller {
namespace {

struct Known {
  std::string_view what, names;  // separated by spaces
};

constexpr std::string_view kWeights = "weight.NAME";
constexpr std::array kKnown{
    Known{"", ""},
    Known{kNoQuery, ""},
    Known{"backup", ""},
    Known{"confirm", "pod node unit limit_s"},
    Known{"decisions", "limit since"},
    Known{"doctor", ""},
    Known{"done", "pod failed"},
    Known{"explain", "pod"},
    Known{"fleet", ""},
    Known{"gaps", ""},
    Known{"heat", "label"},
    Known{"history", "span until node pod"},
    Known{"latency", "target"},
    Known{"margins", "limit"},
    Known{"models", ""},
    Known{"node", "name"},
    Known{"nodes", "sort order filter offset limit state selector"},
    Known{"pod", "pod"},
    Known{"pods", "node sort order filter offset limit"},
    Known{"policy", ""},
    Known{"policy-promote", "force why"},
    Known{"policy-rollback", "to force why"},
    Known{"policy-set", "mode policy reward load expression reference_w horizon_s weight.NAME cpu_wait late force why"},
    Known{"provision", "workload namespace only limit"},
    Known{"provision-mode", "mode force why"},
    Known{"provision-report", "report"},
    Known{"record", "of since after"},
    Known{"report", "since by label pod limit"},
    Known{"savings", "limit"},
    Known{"sleep", "node limit"},
    Known{"sleep-empty", "node"},
    Known{"sleep-exclude", "node why end"},
    Known{"sleep-now", "node"},
    Known{"sleep-wake", "node all"},
    Known{"status", ""},
    Known{"what-if", "pod cpu memory without reward load expression reference_w horizon_s weight.NAME limit"},
};

std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const std::string_view name : parse::split(text, ' ')) names.emplace_back(name);
  return names;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& known) {
    return name == known || (known == kWeights && name.starts_with("weight."));
  });
}

}  // namespace

Status check_arguments(std::string_view what, const Arguments& arguments) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.what == what; });
  if (found == kKnown.end()) return {};
  const std::vector<std::string> names = names_of(found->names);
  for (const auto& [name, value] : arguments)
    if (!is_one_of(name, names)) return unknown_name(std::string(what), "argument", name, names);
  return {};
}

Status check_query(std::string_view what, const http::Request& request) {
  WATTLE_CHECK(check_arguments(what, request.query));
  if (request.repeated.empty()) return {};
  return fail(Errc::malformed, "argument " + request.repeated, "is given more than once", "pass it once");
}

}  // namespace wattle::controller
