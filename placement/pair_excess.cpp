#include "placement/pair_excess.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "placement/demand.hpp"

namespace wattle::placement {

namespace {

constexpr double kNoticed = 0.05;    // more than so much beyond what is explained has a cause that is not known
constexpr double kFallsFaster = 4;   // than it rises
constexpr double kFree_s = 60;       // who was there for so long without excess is not to blame
constexpr double kMostFree_s = 300;  // that count
constexpr double kItselfSlower = 4;  // an application that always waits is known later than neighbours are suspected

bool among(std::span<const AppId> all, AppId one) { return std::find(all.begin(), all.end(), one) != all.end(); }

}  // namespace

// FNV-1a, 64 bits.
AppId app_id_of(const AppKey& key) {
  AppId id = 0xcbf29ce484222325ULL;
  for (const std::string* part : {&key.owner, &key.image, &key.labels}) {
    for (const char letter : *part) id = (id ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    id = (id ^ 0xffU) * 0x100000001b3ULL;
  }
  return std::max<AppId>(id, 1);
}

double stretch_of(double waited) {
  const double share = std::isfinite(waited) ? std::clamp(waited, 0.0, kMostExcess) : 0.0;
  return share / (1 - share);
}

bool PairExcess::observe(AppId app, std::span<const AppId> beside, double excess, double seen_s) {
  if (app == kItself || !std::isfinite(excess) || excess < 0 || !std::isfinite(seen_s) || !(seen_s > 0)) return false;
  excess = std::min(excess, kMostExcess);
  ++clock_;
  const auto known = entries_.find(app);
  if (known == entries_.end() && excess <= kNoticed) return true;  // most pods: nothing to learn
  if (pairs_ + beside.size() + 1 > options_.max_pairs) make_room();
  std::vector<Entry>& entries = entries_[app];
  const auto mention = [&](AppId one) {
    const bool has = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.beside == one; });
    if (has || pairs_ >= options_.max_pairs) return;
    entries.push_back({one, 0, 0, 0, clock_});
    ++pairs_;
  };
  mention(kItself);
  for (const AppId one : beside) mention(one);
  std::vector<Entry*> there;
  double explained = 0;
  bool suspects = false;
  for (Entry& entry : entries) {
    if (entry.beside != kItself && !among(beside, entry.beside)) continue;
    there.push_back(&entry);
    explained = std::max(explained, entry.share);
    suspects = suspects || entry.free_s < kFree_s;
  }
  const bool unexplained = excess > explained + kNoticed;
  for (Entry* each : there) {
    Entry& entry = *each;
    entry.last = clock_;
    entry.seen_s = std::min(entry.seen_s + seen_s, options_.memory_s);
    if (excess <= kNoticed) entry.free_s = std::min(entry.free_s + seen_s, kMostFree_s);
    double part = seen_s / (options_.prior_s + entry.seen_s);
    if (entry.share > excess) {
      part *= kFallsFaster;
    } else if (unexplained && entry.free_s >= kFree_s) {
      if (!suspects) entry.free_s -= seen_s;
      continue;
    } else if (!unexplained && entry.share < explained - kNoticed) {
      continue;  // another one explains it
    } else if (entry.beside == kItself) {
      part /= kItselfSlower;
    }
    entry.share += std::min(part, 1.0) * (excess - entry.share);
  }
  return true;
}

double PairExcess::expected(AppId app, std::span<const AppId> beside) const {
  const auto known = entries_.find(app);
  if (app == kItself || known == entries_.end()) return 0;
  double own = 0, worst = 0;
  for (const Entry& entry : known->second) {
    if (entry.beside == kItself)
      own = entry.share;
    else if (among(beside, entry.beside))
      worst = std::max(worst, entry.share);
  }
  return std::max(0.0, worst - own);
}

PairExcess::Around PairExcess::around(AppId app) const {
  Around found;
  for (const auto& [who, entries] : entries_) {
    double own = 0;
    for (const Entry& entry : entries)
      if (entry.beside == kItself) own = entry.share;
    for (const Entry& entry : entries) {
      if (entry.beside == kItself || !(entry.share > own)) continue;
      if (who == app) found.slowed_by.push_back({entry.beside, entry.share - own});
      if (entry.beside == app) found.slows.push_back(who);
    }
  }
  return found;
}

// A quarter at once, so that one that is made costs little on average.
void PairExcess::make_room() {
  const auto worth = [](const Entry& entry) { return std::pair(entry.share > kNoticed, entry.last); };
  std::vector<std::pair<bool, std::uint64_t>> all;
  all.reserve(pairs_);
  for (const auto& [app, entries] : entries_)
    for (const Entry& entry : entries) all.push_back(worth(entry));
  if (all.empty()) return;
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 4);
  std::nth_element(all.begin(), at, all.end());
  for (auto each = entries_.begin(); each != entries_.end();) {
    auto& entries = each->second;
    const auto old = std::remove_if(entries.begin(), entries.end(), [&](const Entry& e) { return worth(e) <= *at; });
    pairs_ -= static_cast<std::size_t>(entries.end() - old);
    entries.erase(old, entries.end());
    each = entries.empty() ? entries_.erase(each) : std::next(each);
  }
}

void PairExcess::pack(PackWriter& out) const {
  struct Kept {
    AppId app;
    Entry entry;
  };
  std::vector<Kept> kept;
  kept.reserve(pairs_);
  for (const auto& [app, entries] : entries_)
    for (const Entry& entry : entries) kept.push_back({app, entry});
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
    if (a.entry.last != b.entry.last) return a.entry.last < b.entry.last;
    return a.app != b.app ? a.app < b.app : a.entry.beside < b.entry.beside;
  });
  out.word(kept.size());
  for (const Kept& each : kept) {
    out.word(each.app);
    out.word(each.entry.beside);
    out.real(each.entry.share);
    out.real(each.entry.seen_s);
    out.real(each.entry.free_s);
  }
}

void PairExcess::unpack(PackReader& in) {
  PairExcess read(options_);
  constexpr std::size_t kBytesEach = 40;
  for (std::size_t left = in.count(kBytesEach); left > 0 && in.ok(); --left) {
    const AppId app = in.word();
    const Entry entry{in.word(), in.real(), in.real(), in.real(), ++read.clock_};
    if (app == kItself || entry.share < 0 || entry.share > kMostExcess || entry.seen_s < 0 || entry.free_s < 0)
      in.refuse();
    if (!in.ok() || read.pairs_ >= options_.max_pairs) continue;
    std::vector<Entry>& entries = read.entries_[app];
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
