#include "placement/cluster/pair_excess.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "placement/cluster/demand.hpp"

namespace wattle::placement {

namespace {

constexpr double kNoticed = 0.05;     // larger unexplained excess has an unknown cause
constexpr double kFewest = 0.1;       // prior share of pairs that slow each other
constexpr double kBaseShare = 0.02;   // prior share of applications that wait beside any neighbour
constexpr double kFalls_s = 30;       // time constant after lower readings
constexpr double kRises_s = 300;      // time constant after higher readings
constexpr double kLikely = 0.5;       // of an excess: an application whose maximum is lower is cleared
constexpr double kChance_s = 30;      // each further period makes chance e times less likely
constexpr double kOneReading_s = 10;  // shorter observations count as chance
constexpr double kLeastChance = 0.01;
constexpr double kSuspectFactor = 1.01;  // factor on the prior above which the application is suspected
constexpr std::size_t kMostSets = 24, kMostSuspects = 64;
constexpr int kSweeps = 8;
constexpr double kDamped = 0.5;

double prior_of(bool itself) { return itself ? kBaseShare : kFewest; }
double log_odds(double p) { return std::log(p / (1 - p)); }
double probability(double odds) { return 1 / (1 + std::exp(-odds)); }

bool among(std::span<const AppId> all, AppId one) { return std::find(all.begin(), all.end(), one) != all.end(); }

}  // namespace

// FNV-1a, 64 bits.
AppId app_id_of(const AppKey& key) {
  AppId id = 0xcbf29ce484222325ULL;
  for (const std::string* part : {&key.owner, &key.image, &key.labels, &key.pod_namespace}) {
    if (part == &key.pod_namespace && part->empty()) break;  // as ids were before keys had a namespace
    for (const char letter : *part) id = (id ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    id = (id ^ 0xffU) * 0x100000001b3ULL;
  }
  return std::max<AppId>(id, 1);
}

double stretch_of(double waited) {
  const double share = std::isfinite(waited) ? std::clamp(waited, 0.0, kMostExcess) : 0.0;
  return share / (1 - share);
}

PairExcess::Suspect PairExcess::suspect(const Entry& entry) {
  if (entry.share <= kNoticed || entry.blame <= kSuspectFactor * prior_of(entry.beside == kItself)) return {};
  return {entry.beside, entry.share, entry.blame};
}

bool PairExcess::observe(AppId app, std::span<const AppId> beside, double excess, double seen_s) {
  if (app == kItself || !std::isfinite(excess) || excess < 0 || !std::isfinite(seen_s) || !(seen_s > 0)) return false;
  excess = std::min(excess, kMostExcess);
  ++clock_;
  if (excess <= kNoticed && !known_.contains(app)) return true;  // most pods: there is no data to update
  if (pairs_ + beside.size() + 1 > options_.max_pairs) make_room();
  Known& known = known_[app];
  std::vector<Entry>& entries = known.entries;
  const auto mention = [&](AppId one) {
    const bool has = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.beside == one; });
    if (has || pairs_ >= options_.max_pairs) return;
    const double prior = prior_of(one == kItself);
    entries.push_back({one, excess > kNoticed ? excess : kMostExcess, prior, prior, clock_});
    ++pairs_;
  };
  mention(kItself);
  for (const AppId one : beside) mention(one);
  std::vector<Entry*> there;
  bool cleared = false;
  for (Entry& entry : entries) {
    if (entry.beside != kItself && !among(beside, entry.beside)) continue;
    there.push_back(&entry);
    entry.last = clock_;
    const double before = entry.share;
    if (excess < before) entry.share += std::min(1.0, seen_s / kFalls_s) * (excess - before);
    cleared = cleared || (before > kNoticed && entry.share <= kNoticed);
  }
  const bool reported = excess > kNoticed && there.size() > beside.size() && blame(known, there, excess, seen_s);
  if (!cleared && !reported) return true;
  clear_up(known);
  settle(known);
  return true;
}

// Returns true if the reading adds information.
bool PairExcess::blame(Known& known, const std::vector<Entry*>& there, double excess, double seen_s) const {
  std::vector<AppId> suspects;
  const double rises = std::min(1.0, seen_s / kRises_s);
  for (Entry* entry : there) {
    if (entry->share < kLikely * excess) continue;
    suspects.push_back(entry->beside);
    entry->share = std::max(entry->share, entry->share + rises * (excess - entry->share));
  }
  if (suspects.empty()) {
    for (Entry* entry : there) {
      entry->share += rises * (excess - entry->share);
      entry->prior = prior_of(entry->beside == kItself);
    }
    return false;
  }
  if (suspects.size() > kMostSuspects) return false;
  std::sort(suspects.begin(), suspects.end());
  const auto within = [](const std::vector<AppId>& all, const std::vector<AppId>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  };
  bool implied = false, surer = false;
  for (Slow& set : known.slow) {
    if (!within(suspects, set.suspects)) continue;
    implied = true;
    set.last = clock_;
    set.seen_s += seen_s;
    surer = surer || (set.seen_s >= 2 * set.settled_s && std::exp(-set.settled_s / kChance_s) > kLeastChance);
  }
  if (implied) return surer;
  if (known.slow.size() >= kMostSets) {
    const auto worth = [](const Slow& set) { return std::pair(set.seen_s > kChance_s, set.last); };
    known.slow.erase(std::min_element(known.slow.begin(), known.slow.end(),
                                      [&](const Slow& a, const Slow& b) { return worth(a) < worth(b); }));
  }
  known.slow.push_back({std::move(suspects), excess, seen_s, 0, clock_});
  return true;
}

// Removes suspects that can no longer be the cause, and sets that contain another set.
void PairExcess::clear_up(Known& known) {
  const auto cleared = [&](AppId one, double excess) {
    for (const Entry& entry : known.entries)
      if (entry.beside == one) return entry.share < kLikely * excess;
    return true;
  };
  for (Slow& set : known.slow) std::erase_if(set.suspects, [&](AppId one) { return cleared(one, set.excess); });
  std::erase_if(known.slow, [](const Slow& set) { return set.suspects.empty(); });
  std::stable_sort(known.slow.begin(), known.slow.end(),
                   [](const Slow& a, const Slow& b) { return a.suspects.size() < b.suspects.size(); });
  std::vector<Slow> least;
  for (Slow& set : known.slow) {
    const auto part = std::find_if(least.begin(), least.end(), [&](const Slow& of) {
      return std::includes(set.suspects.begin(), set.suspects.end(), of.suspects.begin(), of.suspects.end());
    });
    if (part == least.end()) {
      least.push_back(std::move(set));
      continue;
    }
    part->seen_s += set.seen_s;
    part->last = std::max(part->last, set.last);
  }
  known.slow = std::move(least);
}

void PairExcess::settle(Known& known) {
  struct Edge {
    std::size_t entry = 0;
    double says = 0;      // contribution to the entry's log odds
    double innocent = 0;  // log probability of innocence without this set
  };
  std::vector<std::vector<Edge>> sets(known.slow.size());
  for (std::size_t s = 0; s < sets.size(); ++s) {
    known.slow[s].settled_s = known.slow[s].seen_s;
    for (std::size_t i = 0; i < known.entries.size(); ++i) {
      const auto& suspects = known.slow[s].suspects;
      if (std::binary_search(suspects.begin(), suspects.end(), known.entries[i].beside)) sets[s].push_back({i, 0, 0});
    }
  }
  std::vector<double> odds(known.entries.size());
  for (int sweep = 0; sweep <= kSweeps; ++sweep) {
    for (std::size_t i = 0; i < odds.size(); ++i) odds[i] = log_odds(known.entries[i].prior);
    for (const auto& set : sets)
      for (const Edge& edge : set) odds[edge.entry] += edge.says;
    if (sweep == kSweeps) break;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      double none = 0;
      for (Edge& edge : sets[s]) {
        edge.innocent = std::log1p(-std::min(probability(odds[edge.entry] - edge.says), 1 - 1e-9));
        none += edge.innocent;
      }
      const double seen_s = known.slow[s].seen_s;
      const double chance = seen_s < kOneReading_s ? 1 : std::max(kLeastChance, std::exp(-seen_s / kChance_s));
      for (Edge& edge : sets[s]) {
        const double without = 1 - (1 - chance) * std::exp(none - edge.innocent);
        edge.says += kDamped * (-std::log(without) - edge.says);
      }
    }
  }
  for (std::size_t i = 0; i < odds.size(); ++i) known.entries[i].blame = std::min(probability(odds[i]), 1 - 1e-6);
}

double PairExcess::expected(AppId app, std::span<const AppId> beside) const {
  const auto known = known_.find(app);
  if (app == kItself || known == known_.end()) return 0;
  Waiting others;
  double own = 0;
  for (const Entry& entry : known->second.entries) {
    const Suspect one = suspect(entry);
    if (one.blame <= 0) continue;
    if (entry.beside == kItself)
      own = one.share * one.blame;
    else if (among(beside, entry.beside))
      others.add(one);
  }
  return others.beyond(own);
}

PairExcess::Around PairExcess::around(AppId app) const {
  Around found;
  for (const auto& [who, known] : known_) {
    for (const Entry& entry : known.entries) {
      if (who != app && entry.beside != app) continue;
      const Suspect one = suspect(entry);
      if (one.blame <= 0) continue;
      if (entry.beside == app) found.slows.push_back(who);
      if (who != app) continue;
      if (entry.beside == kItself)
        found.own = one.share * one.blame;
      else
        found.slowed_by.push_back(one);
    }
  }
  return found;
}

// Drops a quarter at once, so that the cost per new entry is small on average.
void PairExcess::make_room() {
  const auto worth = [](const Entry& entry) { return std::pair(suspect(entry).blame > 0, entry.last); };
  std::vector<std::pair<bool, std::uint64_t>> all;
  all.reserve(pairs_);
  for (const auto& [app, known] : known_)
    for (const Entry& entry : known.entries) all.push_back(worth(entry));
  if (all.empty()) return;
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 4);
  std::nth_element(all.begin(), at, all.end());
  for (auto each = known_.begin(); each != known_.end();) {
    auto& entries = each->second.entries;
    const auto old = std::remove_if(entries.begin(), entries.end(), [&](const Entry& e) { return worth(e) <= *at; });
    pairs_ -= static_cast<std::size_t>(entries.end() - old);
    entries.erase(old, entries.end());
    const auto forgotten = [&](AppId one) {
      return std::none_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.beside == one; });
    };
    std::erase_if(each->second.slow,
                  [&](const Slow& set) { return std::any_of(set.suspects.begin(), set.suspects.end(), forgotten); });
    each = entries.empty() ? known_.erase(each) : std::next(each);
  }
}

void PairExcess::pack(PackWriter& out) const {
  struct Kept {
    AppId app;
    Entry entry;
  };
  std::vector<Kept> kept;
  kept.reserve(pairs_);
  for (const auto& [app, known] : known_)
    for (const Entry& entry : known.entries) kept.push_back({app, entry});
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
    if (a.entry.last != b.entry.last) return a.entry.last < b.entry.last;
    return a.app != b.app ? a.app < b.app : a.entry.beside < b.entry.beside;
  });
  out.word(kept.size());
  for (const Kept& each : kept) {
    out.word(each.app);
    out.word(each.entry.beside);
    out.real(each.entry.share);
    out.real(each.entry.blame);
  }
}

void PairExcess::unpack(PackReader& in) {
  PairExcess read(options_);
  constexpr std::size_t kBytesEach = 32;
  for (std::size_t left = in.count(kBytesEach); left > 0 && in.ok(); --left) {
    const AppId app = in.word();
    Entry entry{in.word(), in.real(), 0, in.real(), ++read.clock_};
    entry.prior = entry.blame;
    if (app == kItself || entry.share < 0 || entry.share > kMostExcess || !(entry.blame > 0) || !(entry.blame < 1))
      in.refuse();
    if (!in.ok() || read.pairs_ >= options_.max_pairs) continue;
    std::vector<Entry>& entries = read.known_[app].entries;
    if (std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.beside == entry.beside; })) {
      in.refuse();
      continue;
    }
    entries.push_back(entry);
    ++read.pairs_;
  }
  if (in.ok()) *this = std::move(read);
}

}  // namespace wattle::placement
