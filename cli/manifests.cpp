#include "cli/manifests.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <set>

#include "cli/human.hpp"
#include "common/digest.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kHashDigits = 8;
constexpr std::array<std::string_view, 4> kConfigMaps{"wattle-agent-config", "wattle-controller-config",
                                                      "wattle-scheduler-config", "wattle-shim-config"};
constexpr std::string_view kJob = "\n  name: wattle-keys-";

// Replaces every occurrence; returns their number.
std::size_t replace_all(std::string& text, std::string_view from, const std::string& to) {
  std::size_t count = 0;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  return count;
}

bool all_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

tl::unexpected<Error> wrong(const std::string& option, const std::string& value, const std::string& fix) {
  return fail(Errc::malformed, option, "invalid value '" + value + "'", fix);
}

// The namespace is unquoted in YAML, which reads some words and all numbers as types other than text.
Status check_namespace(const std::string& option, const std::string& name) {
  static const std::set<std::string> kWords{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  const bool lower = std::ranges::none_of(name, [](unsigned char c) { return std::isupper(c) != 0; });
  if (name.empty() || name.size() > 63 || !lower || !all_of(name, "-") || name.back() == '-' ||
      std::isalpha(static_cast<unsigned char>(name.front())) == 0 || kWords.contains(name))
    return wrong(option, name, "use at most 63 of a-z, 0-9 and '-', beginning with a letter");
  return {};
}

bool is_mode(std::string_view mode) {
  if (mode == "off" || mode == "shadow" || mode == "live") return true;
  constexpr std::string_view kCanary = "canary:";
  if (!mode.starts_with(kCanary) || !mode.ends_with('%')) return false;
  const auto percent = parse::u64(mode.substr(kCanary.size(), mode.size() - kCanary.size() - 1));
  return percent && *percent >= 1 && *percent <= 99;
}

bool is_version(std::string_view text) {
  return text.starts_with("v1.") && text.size() > 3 && std::isdigit(static_cast<unsigned char>(text[3])) != 0 &&
         std::ranges::count(text, '.') >= 2 && text.size() < 64 && all_of(text, ".-");
}

Status check(const InstallValues& values) {
  WATTLE_CHECK(check_namespace("--controller-namespace", values.control));
  WATTLE_CHECK(check_namespace("--agents-namespace", values.agents));
  if (values.control == values.agents)
    return wrong("--agents-namespace", values.agents, "the controller's namespace has another Pod Security level");
  if (values.registry.empty() || !all_of(values.registry, ".-_/:") || !all_of(values.registry.substr(0, 1), "") ||
      values.registry.back() == '/')
    return wrong("--registry", values.registry, "use the registry with its path, for example registry.example/team");
  if (values.tag.empty() || values.tag.size() > 128 || !all_of(values.tag, "._-") ||
      !all_of(values.tag.substr(0, 1), "_"))
    return wrong("--tag", values.tag, "use the tag of the images, for example 0.1.0");
  if (!is_version(values.scheduler_version))
    return wrong("--kubernetes", values.scheduler_version, "use the version of the cluster, for example v1.35.4");
  if (!is_mode(values.mode)) return wrong("--mode", values.mode, "use off, shadow, canary:P% (1 to 99) or live");
  if (values.estimate_w && (values.estimate_w->first < 0 || values.estimate_w->second < values.estimate_w->first ||
                            values.estimate_w->second > 100'000))
    return wrong("--estimate", number(values.estimate_w->first, 1) + "," + number(values.estimate_w->second, 1),
                 "use idle and full watts of a node, for example 60,240");
  return {};
}

// The text from the line before `from` to the end of its document.
std::string_view document_at(std::string_view text, std::size_t from) {
  constexpr std::string_view kBetween = "\n---\n";
  const auto begin = text.rfind(kBetween, from), end = text.find(kBetween, from);
  return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

std::string short_hash(std::string_view text) { return sha256_hex(text).substr(0, kHashDigits); }

void hash_names(std::string& text) {
  for (const std::string_view name : kConfigMaps) {
    const auto at = text.find("metadata: {name: " + std::string(name) + ",");
    assert(at != std::string::npos);
    replace_all(text, name, std::string(name) + "-" + short_hash(document_at(text, at)));
  }
  const auto job = text.find(kJob);
  assert(job != std::string::npos);
  const std::string hash = short_hash(document_at(text, job));
  text.replace(job + kJob.size(), kHashDigits, hash);
}
}  // namespace

Result<std::string> manifests_of(std::string_view embedded, InstallValues values) {
  if (values.agents.empty()) values.agents = values.control + "-agent";
  WATTLE_CHECK(check(values));
  std::string text(embedded);
  std::size_t found = 1;
  const auto put = [&](std::string_view placeholder, const std::string& value) {
    found = std::min(found, replace_all(text, placeholder, value));
  };
  put("placeholder-control", values.control);
  put("placeholder-agents", values.agents);
  put("placeholder.invalid", values.registry);
  put("placeholder-tag", values.tag);
  put("v1.35.4-placeholder", values.scheduler_version);
  put("\n    mode: \"shadow\"\n", "\n    mode: \"" + values.mode + "\"\n");
  const std::string last = "\n    bpf: {enabled: true}\n";  // of the agents' configuration
  std::string estimate;
  if (values.estimate_w)
    estimate = "    estimate: {idle_w: " + number(values.estimate_w->first, 1) +
               ", max_w: " + number(values.estimate_w->second, 1) + "}\n";
  put(last, last + estimate);
  assert(found == 1);
  hash_names(text);
  return text;
}

}  // namespace wattle::cli
