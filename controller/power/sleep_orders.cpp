#include "controller/power/sleep_orders.hpp"

#include "common/json/value.hpp"
#include "controller/power/sleep_control.hpp"

namespace wattle::controller::power {

namespace {

using Arguments = std::map<std::string, std::string>;

constexpr std::size_t kMostWords = 500;

std::string words_of(const Arguments& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->second.substr(0, kMostWords);
}

// A flag that is "yes" or absent.
Result<bool> flag_of(const Arguments& arguments, const char* name) {
  const std::string value = words_of(arguments, name);
  if (value.empty() || value == "yes") return !value.empty();
  return fail(Errc::malformed, std::string("argument ") + name, "invalid value '" + value + "'", "use yes, or omit it");
}

Result<std::string> exclude(SleepControl& control, bool kept, const Arguments& arguments, const std::string& who) {
  const std::string node = words_of(arguments, "node");
  if (node.empty()) return fail(Errc::malformed, "sleep-exclude", "needs a node", "wattle sleep exclude NODE");
  WATTLE_TRY(const bool end, flag_of(arguments, "end"));
  std::string why = words_of(arguments, "why");
  if (why.empty()) why = who;
  if (end) why.clear();
  control.exclude(node, why, who);
  return SortedJson{{"node", node}, {"excluded", !why.empty()}, {"kept", kept}}.dump();
}

Result<std::string> test(SleepControl& control, const Arguments& arguments, const std::string& who) {
  const std::string node = words_of(arguments, "node");
  if (node.empty()) return fail(Errc::malformed, "sleep-now", "needs a node", "wattle sleep test NODE");
  WATTLE_CHECK(control.test(node, who));
  const placement::sleep::NodePowerRecord& record = control.records().at(node);
  return SortedJson{{"node", node},
                    {"operation", record.operation},
                    {"round_trips", record.round_trips},
                    {"proven_trips", control.settings().plan.rules.proven_round_trips}}
      .dump();
}

Result<std::string> sleep_empty(SleepControl& control, const Arguments& arguments, const std::string& who) {
  const std::string node = words_of(arguments, "node");
  if (node.empty()) return fail(Errc::malformed, "sleep-empty", "needs a node", "name an empty node");
  WATTLE_TRY(const placement::sleep::PowerState state, control.sleep_empty(node, who));
  return SortedJson{{"node", node}, {"state", std::string(to_string(state))}}.dump();
}

Result<std::string> wake(SleepControl& control, const Arguments& arguments, const std::string& who) {
  const std::string node = words_of(arguments, "node");
  WATTLE_TRY(const bool all, flag_of(arguments, "all"));
  if (node.empty() != all)
    return fail(Errc::malformed, "sleep-wake", "needs a node, or all", "wattle sleep wake NODE, or --all");
  if (!all && !control.records().contains(node))
    return fail(Errc::not_found, node, "is not a node that Wattle puts to sleep", "see wattle sleep status");
  SortedJson woken = SortedJson::array();
  for (const std::string& name : control.wake(node, who)) woken.push_back(name);
  return SortedJson{{"woken", std::move(woken)}}.dump();
}

}  // namespace

Result<std::string> sleep_order(SleepControl& control, bool kept, const std::string& what, const Arguments& arguments,
                                const std::string& who) {
  if (what == "sleep-wake") return wake(control, arguments, who);
  const bool known = what == "sleep-exclude" || what == "sleep-now" || what == "sleep-empty";
  if (!known)
    return fail(Errc::not_found, what, "is not an order about sleep",
                "use sleep-empty, sleep-exclude, sleep-now or sleep-wake");
  if (!control.on())
    return fail(Errc::unsupported, what, "sleep is off", "set sleep.mode in the controller's configuration");
  if (what == "sleep-empty") return sleep_empty(control, arguments, who);
  return what == "sleep-now" ? test(control, arguments, who) : exclude(control, kept, arguments, who);
}

}  // namespace wattle::controller::power
