#include "common/nearest.hpp"

#include <algorithm>

namespace wattle {

namespace {
constexpr std::size_t kLongest = 128;  // longer words are not names

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::size_t allowed(std::size_t letters) { return letters >= 8 ? 3 : letters >= 5 ? 2 : 1; }

// Optimal string alignment: three rows of the table of distances between prefixes.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}
}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kPrefix = 3;
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string wanted = lower(word);
  const std::size_t most = allowed(wanted.size());
  const std::string* best = nullptr;
  const std::string* longer = nullptr;
  std::size_t best_distance = most + 1;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    const std::string name = lower(names[i]);
    if (wanted.size() >= kPrefix && longer == nullptr && name.starts_with(wanted)) longer = &names[i];
    if (name.size() > wanted.size() + most || wanted.size() > name.size() + most) continue;
    const std::size_t apart = distance(wanted, name);
    // A short name must share a letter with the word.
    if (apart >= std::max(name.size(), wanted.size()) || apart >= best_distance) continue;
    best = &names[i];
    best_distance = apart;
  }
  if (best == nullptr) best = longer;
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, std::string_view fix) {
  const auto name = nearest(word, names);
  if (!name) return std::string(fix);
  return "did you mean \"" + *name + "\"?" + (fix.empty() ? "" : " ") + std::string(fix);
}

std::string comma_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace wattle
