#include "agent/collect/hwmon.hpp"

#include <algorithm>
#include <array>

#include "agent/collect/power_meters.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
__extension__ using U128 = unsigned __int128;

struct Refused {
  std::string_view chip, why;
};
// Chips whose watts must not be counted.
constexpr std::array<Refused, 2> kRefused{{
    {"zenpower", "its current is wrong on many boards (github.com/ocerman/zenpower issues 11, 12 and 39)"},
    {"amdgpu", "measures a graphics processor"},
}};

// "energy12_input" to true for ("energy", "_input").
bool is_numbered(std::string_view file, std::string_view before, std::string_view after) {
  if (!file.starts_with(before) || !file.ends_with(after) || file.size() <= before.size() + after.size()) return false;
  const auto number = file.substr(before.size(), file.size() - before.size() - after.size());
  return parse::u64(number).has_value();
}
}  // namespace

std::optional<HwmonSensor> hwmon_sensor(std::string_view chip, std::string_view file, std::string_view label) {
  chip = parse::trim(chip);
  label = parse::trim(label);
  if ((chip == "amd_energy" || chip == "zenergy") && is_numbered(file, "energy", "_input")) {
    if (!label.starts_with("Esocket")) return std::nullopt;  // a core, which is part of a socket
    const auto socket = parse::integer<unsigned>(label.substr(7));
    if (!socket) return std::nullopt;
    return HwmonSensor{EnergyKind::package, *socket, "package-" + std::to_string(*socket), false};
  }
  // The average is over the meter's own interval. Some meters have only this file, and none has both as two separate
  // meters.
  if (chip == "power_meter" && file == "power1_average")
    return HwmonSensor{EnergyKind::psys, std::nullopt, "system", true};
  if ((chip == "apm_xgene" || chip == "xgene_hwmon") && is_numbered(file, "power", "_input") && label == "CPU power")
    return HwmonSensor{EnergyKind::package, 0U, "package-0", true};
  return std::nullopt;
}

bool is_power(std::uint64_t power_uw) { return power_uw > 0 && power_uw < kMaxPower_uw; }

std::optional<std::uint64_t> energy_between_uj(const PowerSample& prev, const PowerSample& now) {
  const Duration interval = now.at - prev.at;
  if (interval <= Duration{} || interval > kMaxPowerInterval) return std::nullopt;
  const U128 twice = (static_cast<U128>(prev.power_uw) + now.power_uw) * static_cast<std::uint64_t>(interval.count());
  return static_cast<std::uint64_t>(twice / 2'000'000'000);
}

namespace {
constexpr const char* kMeterFile = "power1_average";

// Reads an attribute of an ACPI meter; older kernels have them in device/.
std::string text_of(const Dir& dir, const std::string& place, const char* file) {
  for (const std::string& folder : {place, place + "/device"})
    if (const auto text = dir.read_file(folder + "/" + file, 256); text && !parse::trim(*text).empty())
      return std::string(parse::trim(*text));
  return "";
}

PowerMeter power_meter(const Dir& dir, const std::string& place) {
  PowerMeter meter;
  for (const char* file : {"power1_oem_info", "power1_label", "power1_model_number"})
    if (meter.label.empty()) meter.label = text_of(dir, place, file);
  meter.of_battery = text_of(dir, place, "power1_is_battery") == "1";
  meter.shows_uw = parse::u64(text_of(dir, place, kMeterFile));
  for (const std::string& folder : {place + "/measures", place + "/device/measures"}) {
    const auto devices = dir.open_dir(folder);
    const auto entries = devices ? devices->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>{});
    if (!entries || !meter.measures.empty()) continue;
    for (const auto& entry : *entries) meter.measures.push_back(entry.name);
  }
  return meter;
}
}  // namespace

Result<Hwmon> Hwmon::open_(const Roots& roots) {
  const std::string path = roots.sys + "/class/hwmon";
  auto dir = Dir::open_(path);
  if (!dir) return fail(dir.error().code, path, dir.error().what, "virtual machines have no sensors");
  WATTLE_TRY(const auto chips, dir->list());
  std::vector<Sensor> sensors;
  std::string others;
  std::optional<Error> denied;
  std::vector<PowerMeter> meters;
  std::vector<std::size_t> metered;  // index of their sensors
  Duration averages_over{};
  for (const auto& entry : chips) {
    std::string place = entry.name;
    auto name = dir->read_file(place + "/name", 256);
    if (!name) name = dir->read_file((place += "/device") + "/name", 256);
    const auto chip = entry.is_dir ? dir->open_dir(place) : Result<Dir>(fail(Errc::not_found, place, ""));
    const auto files = chip ? chip->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>{});
    if (!name || !files) continue;
    const std::string known(parse::trim(*name));
    for (const auto& file : *files) {
      const auto cut = file.name.find('_');
      if (cut == std::string::npos) continue;
      const auto label = chip->read_file(file.name.substr(0, cut) + "_label", 256);
      auto what = hwmon_sensor(known, file.name, label ? std::string_view(*label) : std::string_view{});
      if (!what) continue;
      auto held = HeldFile::open_(*dir, place + "/" + file.name);
      if (!held) {
        denied = held.error();
        continue;
      }
      if (what->kind == EnergyKind::psys) {
        meters.push_back(power_meter(*dir, entry.name));
        metered.push_back(sensors.size());
        if (const auto ms = parse::u64(text_of(*dir, entry.name, "power1_average_interval")))
          averages_over =
              std::max<Duration>(averages_over, std::chrono::milliseconds(std::min<std::uint64_t>(*ms, 600'000)));
      }
      sensors.push_back({std::move(*what), known, std::move(*held), {}, 0});
    }
    for (const auto& refused : kRefused)
      if (known == refused.chip) others += "; " + known + " is not used: " + std::string(refused.why);
  }
  const auto places = place_power_meters(meters);
  std::vector<bool> left_out(sensors.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    HwmonSensor& what = sensors[metered[i]].what;
    what.label = places[i].label;
    what.socket = places[i].role == MeterRole::package ? places[i].socket : std::nullopt;
    what.kind = places[i].role == MeterRole::system    ? EnergyKind::psys
                : places[i].role == MeterRole::package ? EnergyKind::package
                                                       : EnergyKind::other;
    left_out[metered[i]] = places[i].role == MeterRole::left_out;
  }
  for (std::size_t i = sensors.size(); i-- > 0;)
    if (left_out[i]) sensors.erase(sensors.begin() + static_cast<std::ptrdiff_t>(i));
  if (!sensors.empty()) {
    Hwmon hwmon(std::move(*dir), std::move(sensors));
    hwmon.averages_over_ = averages_over;
    return hwmon;
  }
  if (denied) return fail(denied->code, denied->subject, denied->what, "run as root or with CAP_DAC_READ_SEARCH");
  return fail(Errc::not_found, path, "no chip measures a package or the system" + others);
}

void Hwmon::read(EnergyReadings& out, const Clock& clock, std::span<char> scratch, CollectErrors& errors) {
  out.resize(sensors_.size());
  for (std::size_t i = 0; i < sensors_.size(); ++i) {
    Sensor& sensor = sensors_[i];
    out[i].label.assign(sensor.what.label);
    out[i].kind = sensor.what.kind;
    out[i].socket = sensor.what.socket;
    out[i].energy_uj.reset();
    out[i].gap = false;
    out[i].fault = EnergyFault::none;
    const auto text = sensor.file.read_from(dir_, scratch);
    const auto value = text ? parse::u64(parse::trim(*text)) : std::nullopt;
    if (!value || (sensor.what.is_power && !is_power(*value))) {
      sensor.at.reset();
      errors.emplace_back(
          "hwmon",
          text ? Error{Errc::malformed, sensor.file.path(),
                       value ? "shows " + std::to_string(*value) + " uW, which is not a valid power" : "not a number",
                       ""}
               : text.error());
      continue;
    }
    const MonoTime now = clock.mono();
    if (sensor.at && sensor.what.is_power)
      out[i].energy_uj = energy_between_uj({*sensor.at, sensor.value}, {now, *value});
    // the driver counts in 64 bits; a lower value means that it was reloaded
    else if (sensor.at && *value >= sensor.value)
      out[i].energy_uj = *value - sensor.value;
    else if (sensor.at)
      out[i].fault = EnergyFault::backwards;
    sensor.at = now;
    sensor.value = *value;
  }
}

std::string Hwmon::labels() const {
  std::string text;
  for (const auto& sensor : sensors_)
    text += (text.empty() ? "" : ", ") + sensor.what.label + " (" + sensor.chip +
            (sensor.what.kind == EnergyKind::other ? ", a part)" : ")");
  return text;
}

std::string Hwmon::kinds() const {
  std::string text;
  for (const auto& sensor : sensors_) {
    if (sensor.what.kind == EnergyKind::package) text += "package-, ";
    if (sensor.what.kind == EnergyKind::psys) text += "system, ";
  }
  return text;
}

}  // namespace wattle::agent
