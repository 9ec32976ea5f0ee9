#include "agent/collect/rapl.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
// More than any package or dram zone draws; it bounds the interval in which a second wrap is impossible.
constexpr double kMaxZonePower_w = 1000;
constexpr double kMaxPlatformPower_w = 4000;
// The clock is read next to the counter, not at the same moment.
constexpr double kSlack_s = 1;

EnergyKind kind_of(std::string_view base) {
  if (base == "package") return EnergyKind::package;
  if (base == "core") return EnergyKind::core;
  if (base == "uncore") return EnergyKind::uncore;
  if (base == "dram") return EnergyKind::dram;
  if (base == "psys") return EnergyKind::psys;
  return EnergyKind::other;
}

// Based on the limits in the zone's firmware, with room for short peaks: a part of 15 W may draw 64 W for seconds.
double max_power_w(const Dir& powercap, const std::string& id, EnergyKind kind) {
  constexpr double kPeak = 10, kLeast_w = 100;
  const double most_w = kind == EnergyKind::psys ? kMaxPlatformPower_w : kMaxZonePower_w;
  double stated_w = 0;
  for (const char* constraint : {"0", "1", "2"}) {
    const auto text = powercap.read_file(id + "/constraint_" + constraint + "_max_power_uw", 64);
    const auto power_uw = text ? parse::u64(parse::trim(*text)) : std::nullopt;
    if (power_uw) stated_w = std::max(stated_w, static_cast<double>(*power_uw) / 1e6);
  }
  return stated_w > 0 ? std::clamp(kPeak * stated_w, kLeast_w, most_w) : most_w;
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
  if (!zone.empty()) text += "@" + zone;
  return text;
}

std::optional<RaplDomain> parse_zone_name(std::string_view name) {
  name = parse::trim(name);
  if (name.empty() || name.size() > 64) return std::nullopt;
  RaplDomain domain;
  if (name.starts_with("psys-")) {
    domain.socket = parse::integer<unsigned>(name.substr(5));
    if (!domain.socket) return std::nullopt;
    domain.base = "psys";
    domain.kind = EnergyKind::psys;
    return domain;
  }
  if (!name.starts_with("package-")) {
    domain.base.assign(name);
    domain.kind = kind_of(name);
    return domain;
  }
  const auto parts = parse::split(name, '-');
  domain.base = "package";
  domain.kind = EnergyKind::package;
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
  // A counter that restarted (after suspend, firmware) looks like a wrap of nearly the whole range.
  if (static_cast<double>(energy.energy_uj) > (elapsed_s + kSlack_s) * max_power_w * 1e6) return std::nullopt;
  return energy;
}

bool dies_show_socket(const Roots& roots) {
  const auto proc = Dir::open_(roots.proc);
  const auto file = proc ? proc->open_file("cpuinfo") : Result<File>(fail(Errc::not_found, roots.proc, ""));
  std::array<char, 1024> scratch{};  // the vendor is in the second line
  const auto text = file ? file->read_once_into(scratch) : Result<std::string_view>(std::string_view{});
  if (!text) return false;
  return text->find("AuthenticAMD") != std::string_view::npos || text->find("HygonGenuine") != std::string_view::npos;
}

Result<Rapl> Rapl::open_(const Roots& roots) {
  const std::string path = roots.sys + "/class/powercap";
  auto powercap = Dir::open_(path);
  if (!powercap)
    return fail(powercap.error().code, path, powercap.error().what,
                "virtual machines have no RAPL; on hardware load intel_rapl_msr, in a container mount the host's /sys");
  Rapl rapl(std::move(*powercap), agent::dies_show_socket(roots));
  WATTLE_TRY(rapl.listed_, rapl.list());
  rapl.take_up(rapl.listed_);
  if (std::ranges::any_of(rapl.zones_, [](const Zone& zone) { return zone.energy.has_value(); })) return rapl;
  const auto& why = rapl.uncounted_;
  if (why && why->code == Errc::denied)
    return fail(Errc::denied, why->subject, why->what, "run as root or with CAP_DAC_READ_SEARCH");
  return fail(Errc::not_found, path,
              "no zone counts energy" + (why ? " (" + why->subject + ": " + why->what + ")" : ""),
              "virtual machines have no RAPL; on hardware load intel_rapl_msr");
}

Result<std::vector<std::string>> Rapl::list() const {
  WATTLE_TRY(const auto entries, powercap_.list());
  std::vector<std::string> ids;
  for (const auto& entry : entries)  // "intel-rapl" is the control type
    if (entry.is_dir && entry.name.find(':') != std::string::npos) ids.push_back(entry.name);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Rapl::open_counter(Zone& zone) {
  const auto note = [&](Error why) {
    if (!uncounted_) uncounted_ = std::move(why);
  };
  const auto range_text = powercap_.read_file(zone.id + "/max_energy_range_uj", 64);
  const auto range = range_text ? parse::u64(parse::trim(*range_text)) : std::nullopt;
  if (!range || *range == 0)
    return note(range_text ? Error{Errc::malformed, powercap_.path() + "/" + zone.id + "/max_energy_range_uj",
                                   "is not a positive number", ""}
                           : range_text.error());
  auto counter = HeldFile::open_(powercap_, zone.id + "/energy_uj");
  if (!counter) return note(counter.error());
  zone.max_energy_uj = *range;
  zone.max_power_w = max_power_w(powercap_, zone.id, zone.domain.kind);
  zone.energy.emplace(std::move(*counter));
}

void Rapl::take_up(const std::vector<std::string>& ids) {
  std::map<std::string, RaplDomain, std::less<>> named;  // zone id -> domain
  for (const auto& id : ids) {
    const auto name = powercap_.read_file(id + "/name", 256);
    if (!name) continue;  // zones without a name exist
    if (auto domain = parse_zone_name(*name)) named.emplace(id, std::move(*domain));
  }
  uncounted_.reset();
  for (const bool mmio : {false, true}) {  // MSR first: their MMIO twins count the same energy
    for (auto& entry : named) {
      const std::string& id = entry.first;
      RaplDomain& domain = entry.second;
      if (is_mmio(id) != mmio) continue;
      if (domain.kind != EnergyKind::package && domain.kind != EnergyKind::psys) {
        domain.parent.assign(parent_zone(id));
        if (const auto above = named.find(domain.parent); above != named.end()) {
          domain.socket = above->second.socket;
          domain.die = above->second.die;
        }
        if (domain.socket) domain.parent.clear();
      }
      if (dies_show_socket_) domain.die.reset();
      if (mmio && domain.parent.starts_with("intel-rapl-mmio"))  // its twin's parent has the same form of name
        domain.parent = "intel-rapl" + domain.parent.substr(15);
      const auto held = std::ranges::find(zones_, id, &Zone::id);
      if (held != zones_.end()) {
        if (!held->energy) open_counter(*held);
        continue;
      }
      const auto twin = std::ranges::find(zones_, domain, &Zone::domain);
      // A control type has one zone for each counter, so a second zone of the same name is another counter.
      const bool namesake = twin != zones_.end() && is_mmio(twin->id) == mmio && !dies_show_socket_;
      if (twin != zones_.end() && twin->energy && !namesake) continue;
      if (namesake) domain.zone = id;
      Zone zone{id, domain, domain.label(), 0, 0, std::nullopt, std::nullopt};
      open_counter(zone);
      const bool part_of_sum =
          domain.kind == EnergyKind::package || domain.kind == EnergyKind::dram || domain.kind == EnergyKind::psys;
      if (twin != zones_.end() && !namesake) {
        if (zone.energy) *twin = std::move(zone);
      } else if (zone.energy || part_of_sum) {
        zones_.push_back(std::move(zone));
      }
    }
  }
  if (std::ranges::all_of(zones_, [](const Zone& zone) { return zone.energy.has_value(); })) uncounted_.reset();
}

void Rapl::look_again(MonoTime now, CollectErrors& errors) {
  if (!looked_at_) looked_at_ = now;
  if (now - *looked_at_ < kLookAgain) return;
  looked_at_ = now;
  auto ids = list();
  const bool all_open =
      std::all_of(zones_.begin(), zones_.end(), [](const Zone& zone) { return zone.energy.has_value(); });
  if (!ids || (*ids == listed_ && all_open)) return;
  listed_ = std::move(*ids);
  std::erase_if(zones_, [&](const Zone& zone) { return !std::binary_search(listed_.begin(), listed_.end(), zone.id); });
  take_up(listed_);
  if (uncounted_) errors.emplace_back("rapl", *uncounted_);
}

std::string Rapl::zone_labels() const {
  std::string text;
  for (const auto& zone : zones_) text += (text.empty() ? "" : ", ") + zone.label;
  return text;
}

void Rapl::read(EnergyReadings& out, std::vector<std::pair<std::string, std::uint64_t>>& raw_uj, const Clock& clock,
                std::span<char> scratch, CollectErrors& errors) {
  look_again(clock.mono(), errors);
  out.resize(zones_.size());
  raw_uj.resize(zones_.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    Zone& zone = zones_[i];
    DomainEnergy& reading = out[i];
    reading.label.assign(zone.label);
    reading.kind = zone.domain.kind;
    reading.socket = zone.domain.socket;
    reading.energy_uj.reset();
    reading.gap = false;
    reading.fault = EnergyFault::none;

    if (!zone.energy) {
      reading.fault = EnergyFault::uncounted;
      continue;
    }
    const auto text = zone.energy->read_from(powercap_, scratch);
    const auto counter = text ? parse::u64(parse::trim(*text)) : std::nullopt;
    if (!counter) {
      // EINVAL and ENODATA happen. The energy of a longer interval in a shorter one would give wrong watts, so this
      // restarts.
      zone.prev.reset();
      errors.emplace_back("rapl",
                          text ? Error{Errc::malformed, zone.energy->path(), "not a number", ""} : text.error());
      continue;
    }
    const ZoneSample now{clock.mono(), *counter};
    raw_uj[used].first.assign(zone.label);
    raw_uj[used++].second = now.energy_uj;
    if (zone.prev) {
      if (const auto energy = delta_energy(*zone.prev, now, zone.max_energy_uj, zone.max_power_w)) {
        reading.energy_uj = energy->energy_uj;
        reading.gap = energy->gap;
      } else if (now.at > zone.prev->at) {
        reading.fault = now.energy_uj < zone.prev->energy_uj ? EnergyFault::backwards : EnergyFault::jump;
      }
    }
    zone.prev = now;
  }
  raw_uj.resize(used);
}

}  // namespace wattle::agent
