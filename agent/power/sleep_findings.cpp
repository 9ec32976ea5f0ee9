#include "agent/power/sleep_findings.hpp"

#include <unistd.h>

#include <string>

#include "agent/power/energy_settings.hpp"
#include "agent/power/logind.hpp"
#include "agent/power/node_sleep.hpp"
#include "agent/power/rtc_alarm.hpp"
#include "agent/power/wake_on_lan.hpp"

namespace wattle::agent {

namespace {
Finding sleep_finding(const AgentConfig& config) {
  const Logind logind(config.roots.resolve(kSystemBus));
  std::string able;
  std::optional<Error> first;
  for (const SleepDepth depth : config.power.depths) {
    const Status can = logind.check(depth);
    if (can)
      able += (able.empty() ? "" : " and ") + std::string(to_string(depth));
    else if (!first)
      first = can.error();
  }
  if (able.empty() && first) return lost("sleep", *first);
  if (first) able += "; not the other depth: " + first->subject + ": " + first->what;
  return usable("sleep", able);
}

Finding alarm_finding(const Roots& roots) {
  const Status can = RtcAlarm(roots.sys).check();
  if (can) return usable("rtc-alarm", roots.sys + "/class/rtc/rtc0/wakealarm");
  if (can.error().code == Errc::unsupported) return absent("rtc-alarm", can.error());
  return lost("rtc-alarm", can.error());
}

Finding shallow_finding(const Roots& roots) {
  const std::vector<EnergySetting> settings = read_energy_settings(roots.sys);
  if (settings.empty())
    return absent("shallow", {Errc::unsupported, roots.sys, "has no energy setting that could be lower", ""});
  std::size_t writable = 0;
  for (const EnergySetting& setting : settings)
    writable += ::access((roots.sys + "/" + setting.path).c_str(), W_OK) == 0 ? 1 : 0;
  const std::string share = std::to_string(writable) + " of " + std::to_string(settings.size()) + " energy settings";
  if (writable > 0) return usable("shallow", share);
  return lost("shallow", {Errc::denied, roots.sys + "/" + settings.front().path, "the agent may not write it",
                          "see docs/how-to/prepare-nodes-for-sleep.md"});
}

Finding lan_finding(const Roots& roots) {
  std::string found;
  for (const WakingInterface& interface : read_waking_interfaces(roots.sys))
    found += (found.empty() ? "" : ", ") + interface.name + " " + interface.mac;
  if (!found.empty()) return usable("wake-on-lan", found);
  return {"wake-on-lan", false, true, "no network interface has it switched on",
          "unless a BMC wakes this node: ethtool -s INTERFACE wol g, and switch it on in the BIOS"};
}
}  // namespace

std::vector<Finding> examine_sleep(const AgentConfig& config) {
  if (!config.power.sleep) return {};
  std::vector<Finding> findings;
  if (config.power.shallow) findings.push_back(shallow_finding(config.roots));
  if (config.power.depths.empty()) return findings;
  findings.push_back(sleep_finding(config));
  findings.push_back(alarm_finding(config.roots));
  findings.push_back(lan_finding(config.roots));
  return findings;
}

}  // namespace wattle::agent
