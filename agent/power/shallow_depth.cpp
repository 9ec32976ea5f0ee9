#include "agent/power/shallow_depth.hpp"

#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "agent/incarnation.hpp"
#include "agent/power/energy_settings.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
// Returns whether the kernel can show `set` as `now`.
bool is_same(std::string_view now, std::string_view set) {
  if (now == set) return true;
  const auto now_uw = parse::u64(now), set_uw = parse::u64(set);
  if (!now_uw || !set_uw) return false;
  return std::max(*now_uw, *set_uw) - std::min(*now_uw, *set_uw) < kRounding_uw;
}
}  // namespace

ShallowDepth::ShallowDepth(const Roots& roots, std::string state_dir, const Clock& clock, const Log& log, Write write)
    : sys_(roots.sys),
      boot_file_(roots.proc + "/sys/kernel/random/boot_id"),
      state_dir_(std::move(state_dir)),
      clock_(clock),
      log_(log),
      write_(write ? std::move(write) : Write(write_setting)) {
  if (const auto boot = read_setting(boot_file_)) boot_ = *boot;
  load();
}

ShallowDepth::~ShallowDepth() {
  until_.reset();
  restore();
}

// Line 1 is the boot; then one line per setting: its path, the value found and the value set.
void ShallowDepth::load() {
  const auto text = read_file(file(), std::size_t{1} << 20);
  if (!text && text.error().code == Errc::not_found) return;
  std::istringstream lines(text.value_or(""));
  std::string boot, line, wrong = text ? "" : "cannot be read";
  std::getline(lines, boot);
  while (wrong.empty() && std::getline(lines, line)) {
    std::istringstream words(line);
    std::string below, more;
    Changed setting;
    if (words >> below >> setting.found >> setting.set && !(words >> more) && is_energy_setting(below))
      changed_.emplace(below, setting);
    else
      wrong = "has a line that is not an energy setting";
  }
  damaged_ = !wrong.empty();
  if (damaged_) {
    changed_.clear();
    return log_.error("node_shallow.journal", "the energy settings from before the agent ended are unknown",
                      {{"file", file()}, {"error", wrong}, {"fix", "set them by hand, then remove the file"}});
  }
  restore();
  if (boot != boot_ && !boot_.empty()) changed_.clear();
  if (changed_.empty()) ::unlink(file().c_str());
}

Status ShallowDepth::keep() const {
  std::string text = boot_ + "\n";
  for (const auto& [below, setting] : changed_)
    text.append(below).append(" ").append(setting.found).append(" ").append(setting.set).append("\n");
  return write_file_atomically(file(), text, 0600);
}

Status ShallowDepth::enter(Duration time) {
  const MonoTime now = clock_.mono();
  if (until_) {
    until_ = now + time;
    return {};
  }
  if (demand_at_ && now - *demand_at_ < kQuiet)
    return fail(Errc::conflict, "shallow", "the node had work less than 5 minutes ago");
  const double used_cores = used_cores_.value_or(0);
  if (used_cores > std::max(kDemandCores, kMostIdleShare * cores_.value_or(0)))
    return fail(Errc::conflict, "shallow", "the node uses " + std::to_string(used_cores) + " cores, so it is not idle");
  WATTLE_CHECK(lower());
  idle_cores_ = used_cores;
  until_ = now + time;
  log_.info("node_shallow.begins", "the node has the lowest energy settings",
            {{"settings", changed_.size()}, {"used_cores", used_cores}});
  return {};
}

Status ShallowDepth::lower() {
  if (damaged_) return fail(Errc::conflict, file(), "is damaged", "set the energy settings by hand, then remove it");
  if (boot_.empty()) return fail(Errc::not_found, boot_file_, "the boot has no ID, so values could not be restored");
  restore();
  std::vector<EnergySetting> settings = read_energy_settings(sys_);
  std::erase_if(settings, [this](const EnergySetting& setting) { return changed_.contains(setting.path); });
  if (settings.empty())
    return fail(Errc::unsupported, sys_, "has no energy setting that could be lower",
                "remove shallow from power.depths");
  WATTLE_CHECK(make_state_dir(state_dir_));
  const std::map<std::string, Changed> before = changed_;
  for (const EnergySetting& setting : settings) changed_[setting.path] = {setting.found, setting.lowest};
  if (Status kept = keep(); !kept) {
    changed_ = before;
    return kept;
  }
  std::optional<Error> first;
  std::size_t lowered = 0;
  for (const EnergySetting& setting : settings) {
    const Status written = write_(path(setting.path), setting.lowest);
    lowered += written ? 1 : 0;
    if (!written && !first) first = written.error();
  }
  if (lowered > 0) return {};
  restore();
  return tl::unexpected<Error>(std::move(*first));
}

void ShallowDepth::leave(std::string_view why) {
  if (!until_) return;
  until_.reset();
  restore();
  log_.info("node_shallow.ended", "the node has its previous energy settings again", {{"why", why}});
}

// A value set by another program counts as restored.
bool ShallowDepth::is_back(const std::string& below, const Changed& setting) {
  const auto now = read_setting(path(below));
  if (!now) return false;
  if (*now == setting.found) return true;
  if (is_same(*now, setting.set)) return false;
  log_.info("node_shallow.changed", "another program has changed an energy setting, which keeps that value",
            {{"file", path(below)}, {"value", *now}});
  return true;
}

// Reads before and after each write, because drivers refuse values.
void ShallowDepth::restore() {
  if (changed_.empty()) return;
  std::string error;
  const std::size_t before = changed_.size();
  std::erase_if(changed_, [&](const auto& item) {
    const auto& [below, setting] = item;
    if (is_back(below, setting)) return true;
    const Status written = write_(path(below), setting.found);
    if (written && is_back(below, setting)) return true;
    if (error.empty()) error = written ? path(below) + " does not keep " + setting.found : written.error().message();
    return false;
  });
  try_at_ = clock_.mono() + kTryAgain;
  if (changed_.empty()) {
    ::unlink(file().c_str());
    if (std::exchange(reported_, false)) log_.info("node_shallow.restored", "all energy settings are restored");
    return;
  }
  // A journal that still lists a restored value is harmless, because that value is not the one set.
  if (changed_.size() != before) static_cast<void>(keep());
  if (!std::exchange(reported_, true))
    log_.warn("node_shallow.not_restored", "energy settings of the node are not restored; the agent tries again",
              {{"settings", changed_.size()}, {"error", error}});
}

void ShallowDepth::used(std::optional<double> used_cores, std::optional<double> cores) {
  used_cores_ = used_cores;
  cores_ = cores;
  if (!until_ || !used_cores || *used_cores <= idle_cores_ + kDemandCores) return;
  demand_at_ = clock_.mono();
  leave("the node has work");
}

void ShallowDepth::step() {
  const MonoTime now = clock_.mono();
  if (until_ && now >= *until_) leave("the controller no longer asks for it");
  if (!until_ && !changed_.empty() && now >= try_at_) restore();
}

}  // namespace wattle::agent
