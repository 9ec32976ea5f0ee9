#include "agent/collect/power_meters.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
enum class Level : std::uint8_t { whole, supply, module, processor, rail };

struct Word {
  std::string_view word;
  Level level;
};
// The first matching word of a label decides: "System Fan" is a fan, "CPU Module" a module.
constexpr std::array kWords{
    Word{"fan", Level::rail},
    Word{"fans", Level::rail},
    Word{"sysio", Level::rail},
    Word{"memory", Level::rail},
    Word{"dimm", Level::rail},
    Word{"dram", Level::rail},
    Word{"ddr", Level::rail},
    Word{"gpu", Level::rail},
    Word{"pcie", Level::rail},
    Word{"disk", Level::rail},
    Word{"storage", Level::rail},
    Word{"soc", Level::rail},
    Word{"vdd", Level::rail},
    Word{"module", Level::module},
    Word{"grace", Level::processor},
    Word{"superchip", Level::module},
    Word{"cpu", Level::rail},
    Word{"core", Level::rail},
    Word{"processor", Level::processor},
    Word{"psu", Level::supply},
    Word{"supply", Level::supply},
    Word{"feed", Level::supply},
    Word{"inlet", Level::supply},
    Word{"system", Level::whole},
    Word{"total", Level::whole},
    Word{"chassis", Level::whole},
    Word{"server", Level::whole},
    Word{"node", Level::whole},
};

// "CPU1 Power, Socket 0" to "cpu" "power" "socket".
std::set<std::string> words_of(std::string_view label) {
  std::set<std::string> words;
  std::string word;
  for (const char c : label) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.insert(std::move(word));
  return words;
}

Level level_of(const std::string& label) {
  const auto words = words_of(label);
  for (const Word& one : kWords)
    if (words.contains(std::string(one.word))) return one.level;
  return Level::supply;
}

bool is_cpu(const std::string& label) {
  const auto words = words_of(label);
  return words.contains("cpu") || words.contains("grace") || words.contains("processor");
}

std::optional<unsigned> last_number(std::string_view label) {
  const auto at = label.find_last_not_of("0123456789");
  return parse::integer<unsigned>(label.substr(at == std::string_view::npos ? 0 : at + 1));
}

bool has_all(const std::vector<std::string>& of, const std::vector<std::string>& devices) {
  return of.size() > devices.size() && std::ranges::includes(of, devices);
}

// Returns the meter that shows the sum of all others, among three or more without labels.
std::optional<std::size_t> sum_of_others(const std::vector<PowerMeter>& meters,
                                         const std::vector<std::size_t>& unlabelled) {
  constexpr double kClose = 0.03;
  if (unlabelled.size() < 3) return std::nullopt;
  double sum = 0;
  for (const auto i : unlabelled) {
    if (!meters[i].shows_uw) return std::nullopt;
    sum += static_cast<double>(*meters[i].shows_uw);
  }
  for (const auto i : unlabelled) {
    const auto own = static_cast<double>(*meters[i].shows_uw);
    if (own > 0 && std::abs(sum - 2 * own) <= kClose * own) return i;
  }
  return std::nullopt;
}
}  // namespace

std::vector<MeterPlace> place_power_meters(const std::vector<PowerMeter>& meters) {
  std::vector<MeterPlace> places(meters.size());
  std::vector<Level> levels(meters.size());
  std::vector<std::size_t> unlabelled;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const PowerMeter& meter = meters[i];
    levels[i] = level_of(meter.label);
    if (meter.of_battery) places[i].role = MeterRole::left_out;
    for (std::size_t j = 0; j < meters.size(); ++j) {
      if (j == i || meter.measures.empty() || meters[j].of_battery) continue;
      if (j < i && meters[j].measures == meter.measures && meters[j].label == meter.label)
        places[i].role = MeterRole::left_out;
      if (has_all(meters[j].measures, meter.measures) && places[i].role == MeterRole::system)
        places[i].role = MeterRole::part;
    }
    if (places[i].role == MeterRole::system && meter.label.empty()) unlabelled.push_back(i);
  }
  if (const auto whole = sum_of_others(meters, unlabelled)) levels[*whole] = Level::whole;

  auto highest = Level::rail;
  for (std::size_t i = 0; i < meters.size(); ++i)
    if (places[i].role == MeterRole::system) highest = std::min(highest, levels[i]);
  std::set<std::string> taken;
  const auto living =
      std::ranges::count_if(places, [](const auto& place) { return place.role != MeterRole::left_out; });
  for (std::size_t i = 0; i < meters.size(); ++i) {
    MeterPlace& place = places[i];
    const bool whole = highest < Level::rail;
    if (place.role == MeterRole::system && (levels[i] > highest || !whole)) place.role = MeterRole::part;
    place.label = meters[i].label.empty() ? "system" : meters[i].label;
    if (living == 1 && place.role == MeterRole::system) place.label = "system";
    place.socket = last_number(meters[i].label);
    if (!whole && place.role == MeterRole::part && is_cpu(meters[i].label)) place.role = MeterRole::package;
    const std::string plain = place.label;
    for (unsigned n = 1; place.role != MeterRole::left_out && !taken.insert(place.label).second; ++n)
      place.label = plain + "-" + std::to_string(n);
  }
  return places;
}

}  // namespace wattle::agent
