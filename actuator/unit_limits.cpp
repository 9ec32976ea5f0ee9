#include "actuator/unit_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "common/parse.hpp"
#include "provision/student/student.hpp"

namespace wattle::actuator {

namespace {
constexpr std::int64_t kPeriodsPerSecond = 1'000'000 / kPeriodUs;
constexpr std::int64_t kPercentUs =
    kPeriodUs / 100;  // a whole percent of a core: the finest step of systemd's drop-ins

UnitProperty property_of(Knob knob) {
  if (knob == Knob::quota_us) return UnitProperty::quota;
  return knob == Knob::low_bytes ? UnitProperty::low : UnitProperty::high;
}
const char* setting_of(Knob knob) {
  if (knob == Knob::quota_us) return "CPUQuota";
  return knob == Knob::low_bytes ? "MemoryLow" : "MemoryHigh";
}

std::uint64_t to_systemd(Knob knob, std::int64_t value) {
  if (value == kUnlimited) return kNoLimit;
  return static_cast<std::uint64_t>(knob == Knob::quota_us ? value * kPeriodsPerSecond : value);
}

std::int64_t from_systemd(Knob knob, std::uint64_t value) {
  if (value >= static_cast<std::uint64_t>(kUnlimited)) return kUnlimited;
  const auto number = static_cast<std::int64_t>(value);
  return knob == Knob::quota_us ? number / kPeriodsPerSecond : number;
}

// Value as a drop-in stores it.
std::int64_t cut(Knob knob, std::int64_t value) {
  return knob == Knob::quota_us && value != kUnlimited ? value / kPercentUs * kPercentUs : value;
}

std::string unit_of(const Target& target) { return target.name.substr(target.name.rfind('/') + 1); }

// Value in a drop-in of systemd; no value if it contains anything else, and so belongs to another writer.
std::optional<std::int64_t> parse_drop_in(std::string_view text, Knob knob) {
  std::optional<std::int64_t> value;
  bool plain = true;
  const std::string key = std::string(setting_of(knob)) + "=";
  parse::for_each_line(text, [&](std::string_view line) {
    if (line.empty() || line.front() == '#' || line.front() == '[') return;
    plain = plain && line.starts_with(key) && !value;
    if (!plain) return;
    line.remove_prefix(key.size());
    if (line.empty() || line == "infinity") {
      value = kUnlimited;
      return;
    }
    if (knob == Knob::quota_us && line.ends_with('%')) line.remove_suffix(1);
    const auto number = parse::integer<std::int64_t>(line);
    plain = number && *number >= 0 && *number < kUnlimited / kPercentUs;
    if (plain) value = knob == Knob::quota_us ? *number * kPercentUs : *number;
  });
  return plain ? value : std::nullopt;
}
}  // namespace

Result<Target> UnitLimits::find(const std::string& path) {
  WATTLE_TRY(const Target cgroup, cgroups_.find(path));
  const std::string unit = unit_of(cgroup);
  if (manager_ == nullptr || !is_unit_name(unit)) return cgroup;
  const auto where = manager_->cgroup_of(unit);
  if (!where && where.error().code != Errc::not_found) return tl::unexpected<Error>(where.error());
  // The systemd of a user or container has separate units in a delegated subtree.
  if (!where || *where != cgroup.name) return cgroup;
  return Target{Seam::unit, cgroup.name, 0};
}

Result<Target> UnitLimits::cgroup_of(const Target& unit) {
  if (const auto known = cgroups_of_.find(unit); known != cgroups_of_.end()) return known->second;
  WATTLE_TRY(const Target found, cgroups_.find(unit.name));
  cgroups_of_[unit] = found;
  return found;
}

void UnitLimits::forget(const Target& target) {
  if (target.seam != Seam::unit) return cgroups_.forget(target);
  if (const auto known = cgroups_of_.find(target); known != cgroups_of_.end()) {
    cgroups_.forget(known->second);
    cgroups_of_.erase(known);
  }
}

Result<std::optional<std::int64_t>> UnitLimits::in_force(const Target& unit, Knob knob) {
  // A restarted unit has a new cgroup with the same path.
  for (const bool again : {false, true}) {
    if (again) forget(unit);
    const auto cgroup = cgroup_of(unit);
    if (!cgroup && cgroup.error().code != Errc::not_found && cgroup.error().code != Errc::unsupported)
      return tl::unexpected<Error>(cgroup.error());
    if (!cgroup) return std::optional<std::int64_t>();
    const auto value = cgroups_.read(*cgroup, knob);
    if (value) return std::optional(*value);
    if (value.error().code != Errc::not_found) return tl::unexpected<Error>(value.error());
  }
  return std::optional<std::int64_t>();
}

Result<std::int64_t> UnitLimits::reported(const Target& unit, Knob knob) {
  if (manager_ == nullptr)
    return fail(Errc::unavailable, unit.name, "is a unit, but systemd does not run on this machine");
  WATTLE_TRY(const std::uint64_t value, manager_->read(unit_of(unit), property_of(knob)));
  return from_systemd(knob, value);
}

std::int64_t UnitLimits::made_of(const Target& unit, Knob knob, std::int64_t value) const {
  return cgroups_.fitted(unit, knob, value);
}

Result<std::int64_t> UnitLimits::read(const Target& target, Knob knob, std::optional<std::int64_t> ours) {
  if (target.seam != Seam::unit) return cgroups_.read(target, knob);
  const auto file = in_force(target, knob);
  if (!file && (!ours || knob == Knob::burst_us || file.error().code != Errc::unsupported))
    return tl::unexpected<Error>(file.error());
  const bool runs = file && file->has_value();
  if (!runs && !ours) return fail(Errc::unsupported, target.name, "is not running, so it has no limits");
  // A unit that does not run has no burst.
  if (knob == Knob::burst_us) return runs ? **file : 0;
  WATTLE_TRY(const std::int64_t said, reported(target, knob));
  if (!runs || made_of(target, knob, said) == **file) return said;
  if (ours) return said == *ours ? **file : said;
  const auto word = [](std::int64_t value) { return value == kUnlimited ? "no limit" : std::to_string(value); };
  return fail(
      Errc::conflict, target.name + " " + setting_of(knob),
      "is " + word(said) + " to systemd and " + word(**file) + " to the kernel: another program bypasses systemd",
      knob == Knob::low_bytes
          ? "stop that program, then run systemctl daemon-reload; or set MemoryLow of the unit, if its slice "
            "has DefaultMemoryLow"
          : "stop that program, then run systemctl daemon-reload");
}

Status UnitLimits::write_file(const Target& unit, Knob knob, std::int64_t value) {
  const auto cgroup = cgroup_of(unit);
  auto written = cgroup ? cgroups_.write(*cgroup, knob, value) : Status(tl::unexpected<Error>(cgroup.error()));
  // The unit still exists if its cgroup is gone.
  if (!written && written.error().code == Errc::not_found) {
    forget(unit);
    return fail(Errc::unsupported, written.error().subject, written.error().what);
  }
  return written;
}

Status UnitLimits::write(const Target& target, Knob knob, std::int64_t value) {
  if (target.seam != Seam::unit) return cgroups_.write(target, knob, value);
  if (knob == Knob::burst_us) return write_file(target, knob, value);
  WATTLE_TRY(const std::int64_t before, reported(target, knob));
  WATTLE_CHECK(manager_->write(unit_of(target), property_of(knob), to_systemd(knob, value)));
  // Checks the result. systemd answers this only after it has applied the change.
  const auto said = reported(target, knob);
  const auto file = in_force(target, knob);
  const auto still = reported(target, knob);
  if (!said || !still) {
    const Error& why = said ? still.error() : said.error();
    return fail(Errc::timeout, why.subject, why.what, why.fix);
  }
  const bool runs = file && file->has_value();
  if (*still == value && (!runs || **file == made_of(target, knob, value))) return {};
  const std::string subject = target.name + " " + setting_of(knob);
  // systemd changes a value only by rounding; any other change comes from a later writer.
  if (*still - kPercentUs >= value || *still + kPercentUs <= value)
    return fail(Errc::conflict, subject, "another program changed the limit");
  if (const auto back = manager_->write(unit_of(target), property_of(knob), to_systemd(knob, before)); !back)
    return fail(Errc::timeout, back.error().subject, back.error().what, back.error().fix);
  return fail(Errc::out_of_range, subject,
              "became " + std::to_string(runs ? **file : *still) + " instead of " + std::to_string(value),
              "check journalctl -u " + unit_of(target));
}

std::int64_t UnitLimits::fitted(const Target& target, Knob knob, std::int64_t value) const {
  if (target.seam != Seam::unit || knob != Knob::quota_us || value >= kUnlimited - kPercentUs)
    return cgroups_.fitted(target, knob, value);
  return std::max<std::int64_t>((value + kPercentUs - 1) / kPercentUs, 1) * kPercentUs;
}

Status UnitLimits::yield(const Target& target, Knob knob, std::int64_t original, std::int64_t theirs) {
  if (target.seam != Seam::unit || knob == Knob::burst_us) return {};
  WATTLE_TRY(const std::int64_t said, reported(target, knob));
  if (said != theirs) WATTLE_CHECK(manager_->write(unit_of(target), property_of(knob), to_systemd(knob, original)));
  // Includes a value that systemd could not write while our burst was above it.
  WATTLE_CHECK(reported(target, knob));
  const auto file = in_force(target, knob);
  if (!file || !file->has_value()) return {};
  const std::int64_t wanted = said == theirs ? made_of(target, knob, theirs) : theirs;
  return **file == wanted ? Status() : write_file(target, knob, wanted);
}

bool UnitLimits::leaves_trace(const Target& target, Knob knob) const {
  return target.seam == Seam::unit && knob != Knob::burst_us && is_unit_name(unit_of(target));
}

std::string UnitLimits::drop_ins(const Target& unit) const { return control_dir_ + "/" + unit_of(unit) + ".d"; }

Trace UnitLimits::trace(const Target& target, Knob knob, std::int64_t value) const {
  if (!leaves_trace(target, knob)) return Trace::none;
  const auto text = read_file(drop_ins(target) + "/50-" + setting_of(knob) + ".conf");
  if (!text) return text.error().code == Errc::not_found ? Trace::none : Trace::other;
  return parse_drop_in(*text, knob) == cut(knob, value) ? Trace::says : Trace::other;
}

Status UnitLimits::erase(const Target& target, Knob knob, std::int64_t value) {
  // A daemon-reload may have replaced the original by the rounded value of the drop-in.
  if (const auto said = reported(target, knob); said && *said != value && *said == cut(knob, value))
    WATTLE_CHECK(manager_->write(unit_of(target), property_of(knob), to_systemd(knob, value)));
  const std::string folder = drop_ins(target), file = folder + "/50-" + setting_of(knob) + ".conf";
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, file, "run wattle-actuator restore as root with write access to this folder");
  // Succeeds only if the folder is empty.
  ::unlinkat(AT_FDCWD, folder.c_str(), AT_REMOVEDIR);
  return {};
}

}  // namespace wattle::actuator
