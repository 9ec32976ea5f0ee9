#include "common/cmdline/wrong_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <vector>

namespace wattle::cmdline {

namespace {

// Insertions, deletions, substitutions and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

std::string listed(std::span<const std::string> commands) {
  std::string all = "one of ";
  for (const std::string& each : commands) all += (&each == commands.data() ? "" : ", ") + each;
  return all;
}

constexpr std::size_t kLongestWord = 64;  // a longer word is close to no command

}  // namespace

std::optional<std::string> closest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kLongestWord) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& each : known) {
    const std::size_t away = distance(word, each);
    if (3 * away > std::max<std::size_t>(each.size(), 3) || (best != nullptr && away >= least)) continue;
    best = &each;
    least = away;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string unknown_command(const std::string& path, std::string_view word, std::span<const std::string> commands) {
  const auto meant = closest(word, commands);
  return path + ": '" + std::string(word) + "' is not a command (" + (meant ? "did you mean '" + *meant + "'? " : "") +
         listed(commands) + ")";
}

std::optional<std::string> wrong_command(const CLI::App& app, const CLI::ParseError& thrown) {
  const bool help = dynamic_cast<const CLI::CallForHelp*>(&thrown) != nullptr;
  if (!help && dynamic_cast<const CLI::RequiredError*>(&thrown) == nullptr) return std::nullopt;
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (; !at->get_subcommands().empty(); path += " " + at->get_name()) at = at->get_subcommands().front();
  if (at->get_require_subcommand_min() == 0) return std::nullopt;
  std::vector<std::string> commands;
  for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; }))
    if (!one->get_name().empty()) commands.push_back(one->get_name());
  const auto words = app.remaining(true);
  const auto word =
      std::find_if(words.begin(), words.end(), [](const std::string& one) { return !one.starts_with('-'); });
  if (word != words.end()) return unknown_command(path, *word, commands);
  if (help) return std::nullopt;
  return path + ": a command is missing (" + listed(commands) + ")";
}

}  // namespace wattle::cmdline
