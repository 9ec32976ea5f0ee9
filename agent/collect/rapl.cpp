#include "agent/collect/rapl.hpp"

#include <algorithm>
#include <map>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
// More than any package or dram zone draws; it bounds how long an interval may be before a second wrap is possible.
constexpr double kMaxZonePower_w = 1000;
constexpr double kMaxPlatformPower_w = 4000;
// The clock is read beside the counter, not with it.
constexpr double kSlack_s = 1;

RaplKind kind_of(std::string_view base) {
  if (base == "package") return RaplKind::package;
  if (base == "core") return RaplKind::core;
  if (base == "uncore") return RaplKind::uncore;
  if (base == "dram") return RaplKind::dram;
  if (base == "psys") return RaplKind::psys;
  return RaplKind::other;
}

bool is_mmio(std::string_view id) { return id.starts_with("intel-rapl-mmio"); }
}  // namespace

std::string RaplDomain::label() const {
  std::string text = base;
  if (socket)
    text += "-" + std::to_string(*socket);
  else if (!parent.empty())
    text += "@" + parent;
  if (die) text += "-die-" + std::to_string(*die);
  return text;
}

std::optional<RaplDomain> parse_zone_name(std::string_view name) {
  name = parse::trim(name);
  if (name.empty() || name.size() > 64) return std::nullopt;
  RaplDomain domain;
  if (!name.starts_with("package-")) {
    domain.base.assign(name);
    domain.kind = kind_of(name);
    return domain;
  }
  const auto parts = parse::split(name, '-');
  domain.base = "package";
  domain.kind = RaplKind::package;
  domain.socket = parse::integer<unsigned>(parts[1]);
  if (parts.size() == 4 && parts[2] == "die") domain.die = parse::integer<unsigned>(parts[3]);
  if (!domain.socket || (parts.size() != 2 && !domain.die)) return std::nullopt;
  return domain;
}

std::string_view parent_zone(std::string_view id) {
  const auto last = id.rfind(':');
  if (last == std::string_view::npos || id.find(':') == last) return {};
  return id.substr(0, last);
}

std::optional<ZoneEnergy> delta_energy(const ZoneSample& prev, const ZoneSample& now, std::uint64_t max_energy_uj,
                                       double max_power_w) {
  if (now.at <= prev.at || prev.energy_uj > max_energy_uj || now.energy_uj > max_energy_uj) return std::nullopt;
  ZoneEnergy energy;
  energy.energy_uj =
      now.energy_uj >= prev.energy_uj ? now.energy_uj - prev.energy_uj : max_energy_uj - prev.energy_uj + now.energy_uj;
  const double elapsed_s = seconds(now.at - prev.at);
  energy.gap = elapsed_s * max_power_w * 1e6 >= static_cast<double>(max_energy_uj);
  // A counter that began anew (after suspend, firmware) looks like a wrap of nearly the whole range.
  if (static_cast<double>(energy.energy_uj) > (elapsed_s + kSlack_s) * max_power_w * 1e6) return std::nullopt;
  return energy;
}

Result<Rapl> Rapl::open_(const Roots& roots) {
  const std::string path = roots.sys + "/class/powercap";
  auto powercap = Dir::open_(path);
  if (!powercap)
    return fail(powercap.error().code, path, powercap.error().what,
                "virtual machines have no RAPL; on hardware load intel_rapl_msr, in a container mount the host's /sys");
  WATTLE_TRY(const auto entries, powercap->list());

  std::map<std::string, RaplDomain, std::less<>> named;  // zone id -> domain
  for (const auto& entry : entries) {
    if (!entry.is_dir || entry.name.find(':') == std::string::npos) continue;  // "intel-rapl" is the control type
    const auto name = powercap->read_file(entry.name + "/name", 256);
    if (!name) continue;  // zones without a name exist
    if (auto domain = parse_zone_name(*name)) named.emplace(entry.name, std::move(*domain));
  }
  std::optional<Error> denied;
  std::vector<Zone> zones;
  for (const bool mmio : {false, true}) {  // MSR first: their MMIO twins count the same energy
    for (auto& entry : named) {
      const std::string& id = entry.first;
      RaplDomain& domain = entry.second;
      if (is_mmio(id) != mmio) continue;
      if (domain.kind != RaplKind::package && domain.kind != RaplKind::psys) {
        domain.parent.assign(parent_zone(id));
        if (const auto above = named.find(domain.parent); above != named.end()) {
          domain.socket = above->second.socket;
          domain.die = above->second.die;
        }
        if (domain.socket) domain.parent.clear();
      }
      if (mmio && domain.parent.starts_with("intel-rapl-mmio"))  // its twin's parent is named likewise
        domain.parent = "intel-rapl" + domain.parent.substr(15);
      const bool twin =
          std::any_of(zones.begin(), zones.end(), [&](const Zone& zone) { return zone.domain == domain; });
      if (twin) continue;
      auto dir = powercap->open_dir(id);
      if (!dir) continue;
      const auto range_text = dir->read_file("max_energy_range_uj", 64);
      const auto range = range_text ? parse::u64(parse::trim(*range_text)) : std::nullopt;
      if (!range || *range == 0) continue;  // a zone that limits power but counts no energy
      if (auto counter = dir->open_file("energy_uj"); !counter) {
        if (counter.error().code == Errc::denied) denied = counter.error();
        continue;
      }
      std::string label = domain.label();
      zones.push_back(Zone{std::move(*dir), domain, std::move(label), *range});
    }
  }
  if (!zones.empty()) return Rapl(std::move(zones));
  if (denied) return fail(Errc::denied, denied->subject, denied->what, "run as root or with CAP_DAC_READ_SEARCH");
  return fail(Errc::not_found, path, "no zone counts energy",
              "virtual machines have no RAPL; on hardware load intel_rapl_msr");
}

void Rapl::read(RaplReading& out, const Clock& clock, std::span<char> scratch,
                std::vector<std::pair<std::string, Error>>& errors) {
  out.raw_uj.resize(zones_.size());
  std::size_t used = 0, domains = 0;
  for (Zone& zone : zones_) {
    zone.delta.reset();
    const auto text = zone.energy.read_from(zone.dir, scratch);
    const ZoneSample now{clock.mono(), text ? parse::u64(parse::trim(*text)).value_or(0) : 0};
    const bool good = text && parse::u64(parse::trim(*text));
    if (!good) {
      // EINVAL and ENODATA happen. Joules of a longer interval in a shorter one would be wrong watts, so begin anew.
      zone.prev.reset();
      errors.emplace_back(
          "rapl", text ? Error{Errc::malformed, zone.dir.path() + "/energy_uj", "not a number", ""} : text.error());
      continue;
    }
    out.raw_uj[used].first.assign(zone.label);
    out.raw_uj[used++].second = now.energy_uj;
    if (zone.prev) {
      zone.delta = delta_energy(*zone.prev, now, zone.max_energy_uj,
                                zone.domain.kind == RaplKind::psys ? kMaxPlatformPower_w : kMaxZonePower_w);
    }
    zone.prev = now;
    if (!zone.delta) continue;
    if (domains == out.domains.size()) out.domains.emplace_back();
    out.domains[domains].name.assign(zone.label);
    out.domains[domains].energy_uj = zone.delta->energy_uj;
    out.domains[domains++].gap = zone.delta->gap;
  }
  out.raw_uj.resize(used);
  out.domains.resize(domains);
  out.total = total();
}

std::optional<RaplTotal> Rapl::total() const {
  RaplTotal packages, platform;
  bool have_package = false, have_platform = false, complete = true;
  const auto add = [](RaplTotal& to, const ZoneEnergy& energy) {
    to.energy_uj += energy.energy_uj;
    to.gap = to.gap || energy.gap;
  };
  for (const Zone& zone : zones_) {
    const bool package = zone.domain.kind == RaplKind::package || zone.domain.kind == RaplKind::dram;
    const bool psys = zone.domain.kind == RaplKind::psys;
    if (!package && !psys) continue;
    if (!zone.delta) {
      complete = complete && !package;
      continue;
    }
    add(psys ? platform : packages, *zone.delta);
    have_package = have_package || zone.domain.kind == RaplKind::package;
    have_platform = have_platform || psys;
  }
  if (!complete) return std::nullopt;
  // Some boards have a psys that counts nothing; one below its own packages is not to be believed.
  if (have_platform && (!have_package || platform.energy_uj >= packages.energy_uj)) return platform;
  if (have_package) return packages;
  return std::nullopt;
}

}  // namespace wattle::agent
