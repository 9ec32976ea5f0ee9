#include "agent/power/energy_settings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr std::string_view kPolicies = "devices/system/cpu/cpufreq", kPreference = "energy_performance_preference",
                           kLowest = "power";
constexpr std::string_view kZones = "class/powercap", kZone = "intel-rapl:", kLimit = "constraint_0_power_limit_uw";
constexpr std::size_t kMaxBytes = 256;

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const auto dir = Dir::open_(path);
  if (!dir) return names;
  const auto entries = dir->list();
  if (!entries) return names;
  for (const DirEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = read_setting(path);
  return text ? parse::u64(*text) : std::nullopt;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// One printable word, because the journal separates values by spaces.
bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char each) { return each > ' ' && each <= '~'; });
}

std::optional<EnergySetting> preference_of(const std::string& sys, const std::string& policy) {
  const std::string dir = std::string(kPolicies) + "/" + policy + "/";
  const auto known = read_setting(sys + "/" + dir + "energy_performance_available_preferences");
  if (!known || !has_word(*known, kLowest)) return std::nullopt;
  const std::string path = dir + std::string(kPreference);
  auto found = read_setting(sys + "/" + path);
  if (!found || !is_word(*found) || *found == kLowest) return std::nullopt;
  return EnergySetting{path, std::move(*found), std::string(kLowest)};
}

std::optional<EnergySetting> limit_of(const std::string& sys, const std::string& zone) {
  const std::string dir = std::string(kZones) + "/" + zone + "/", path = dir + std::string(kLimit);
  const auto at = [&](const char* name) { return sys + "/" + dir + name; };
  const auto name = read_setting(at("name"));
  if (!name || !name->starts_with("package")) return std::nullopt;
  const auto constraint = read_setting(at("constraint_0_name"));
  if (!constraint || *constraint != "long_term" || number_in(at("enabled")).value_or(1) == 0) return std::nullopt;
  const auto found_uw = number_in(sys + "/" + path), most_uw = number_in(at("constraint_0_max_power_uw"));
  const std::uint64_t least_uw = number_in(at("constraint_0_min_power_uw")).value_or(0);
  if (!found_uw || !most_uw || *found_uw > *most_uw || *found_uw < least_uw) return std::nullopt;
  const std::uint64_t lowest_uw = std::max(*found_uw / 2, least_uw);
  if (lowest_uw == 0 || lowest_uw >= *found_uw) return std::nullopt;
  return EnergySetting{path, std::to_string(*found_uw), std::to_string(lowest_uw)};
}
}  // namespace

std::vector<EnergySetting> read_energy_settings(const std::string& sys) {
  std::vector<EnergySetting> all;
  const auto add = [&all](std::optional<EnergySetting> setting) {
    if (setting) all.push_back(std::move(*setting));
  };
  for (const std::string& name : names_in(sys + "/" + std::string(kPolicies)))
    if (name.starts_with("policy")) add(preference_of(sys, name));
  for (const std::string& name : names_in(sys + "/" + std::string(kZones)))
    if (name.starts_with(kZone)) add(limit_of(sys, name));
  std::ranges::sort(all, {}, &EnergySetting::path);
  return all;
}

bool is_energy_setting(std::string_view path) {
  const auto between = [path](std::string_view before, std::string_view after) {
    const std::string start = std::string(before), end = "/" + std::string(after);
    if (path.size() <= start.size() + end.size() || !path.starts_with(start) || !path.ends_with(end)) return false;
    const std::string_view name = path.substr(start.size(), path.size() - start.size() - end.size());
    return name.find('/') == std::string_view::npos;
  };
  return between(std::string(kPolicies) + "/policy", kPreference) ||
         between(std::string(kZones) + "/" + std::string(kZone), kLimit);
}

Result<std::string> read_setting(const std::string& path) {
  WATTLE_TRY(const std::string text, read_file(path, kMaxBytes));
  return std::string(parse::trim(text));
}

Status write_setting(const std::string& path, std::string_view value) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK));
  const std::string text = std::string(value) + "\n";
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, path, "allow the agent to write it, see docs/how-to/prepare-nodes-for-sleep.md");
  return {};
}

}  // namespace wattle::agent
