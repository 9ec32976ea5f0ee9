#include "actuator/governor.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "common/cgroup_path.hpp"
#include "provision/student/student_trial.hpp"

namespace wattle::actuator {

using actuation::Level;
using actuation::State;
using actuation::writes;

namespace {
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kSeekEvery = std::chrono::seconds(1);
constexpr Duration kUnitEvery = std::chrono::seconds(5);  // interval of reading systemd, and of lowering a unit's limit
constexpr std::uint64_t kUsageEvery = 5;                  // ticks; throttling is read at every tick
constexpr double kPeriod = static_cast<double>(kPeriodUs);

bool inside(const std::string& path, const std::string& outer) {
  return path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '/';
}

bool same_workload(const actuation::Order& one, const actuation::Order& other) {
  return one.level == other.level && one.path == other.path;
}

// Keeps a path that cannot be normalised; seek() reports it.
std::string plain(const std::string& path) { return normal_cgroup_path(path).value_or(path); }
}  // namespace

Governor::Governor(CgroupLimits& cgroups, Limits& limits, Ledger& ledger, NodeLoad load, Rules rules)
    : cgroups_(cgroups), limits_(limits), ledger_(ledger), load_(std::move(load)), rules_(rules) {}

void Governor::own(std::vector<actuation::Order> orders) {
  own_ = std::move(orders);
  changed_ = true;
}

void Governor::order(actuation::Orders orders, MonoTime now) {
  changed_ = changed_ || !reported_ || !std::ranges::equal(reported_->orders, orders.orders, same_workload);
  reported_ = std::move(orders);
  received_ = true;
  reported_at_ = now;
}

// Merges the workloads of both sources; the configuration takes precedence over the agent.
void Governor::merge(MonoTime now) {
  if (reported_ && now - reported_at_ > kSilence) {
    reported_.reset();
    changed_ = received_ = true;
  }
  if (!changed_) return;
  changed_ = false;
  std::map<std::string, Level> levels;
  if (reported_)
    for (const auto& order : reported_->orders) levels[plain(order.path)] = order.level;
  for (const auto& order : own_) levels[plain(order.path)] = order.level;
  std::erase_if(levels, [](const auto& entry) { return entry.second == Level::off; });
  std::erase_if(levels, [&](const auto& entry) {
    return std::ranges::any_of(levels, [&](const auto& other) { return inside(entry.first, other.first); });
  });
  while (levels.size() > actuation::kMaxWorkloads) levels.erase(std::prev(levels.end()));
  for (auto it = workloads_.begin(); it != workloads_.end();) {
    if (levels.contains(it->first)) {
      ++it;
      continue;
    }
    lose(*it->second);
    it = workloads_.erase(it);
  }
  for (const auto& [path, level] : levels) {
    auto& workload = workloads_[path];
    if (!workload) {
      workload = std::make_unique<Workload>();
      workload->path = path;
      workload->trial = student_trial(rules_.student_throttled_ratio);
      workload->sought_at = now - kSeekEvery;
    }
    // The new level may use another keeper (kernel or systemd), so the target is looked up again.
    if (workload->level != level) lose(*workload);
    workload->level = level;
    workload->grant.path = path;
    workload->grant.level = level;
  }
}

// Copies latencies and steps from the orders; workloads without an order have none.
void Governor::hear_requests() {
  if (!received_) return;
  received_ = false;
  for (auto& [path, workload] : workloads_) {
    workload->requests.reset();
    workload->step.reset();
  }
  if (!reported_) return;
  for (const auto& order : reported_->orders)
    if (const auto found = workloads_.find(plain(order.path)); found != workloads_.end()) {
      found->second->requests = order.requests;
      found->second->step = order.step;
    }
}

// Restores the original limits and forgets the target; a workload that is still ordered is found again.
void Governor::lose(Workload& workload) {
  if (workload.target) {
    for (const Error& error : ledger_.restore(*workload.target).failed) trouble(workload, error);
    limits_.forget(*workload.target);
  }
  workload.target.reset();
  workload.meter.reset();
  workload.wishes = false;
  workload.slow_since.reset();
  workload.set.reset();
  workload.high_bytes.reset();
  workload.low_bytes.reset();
  workload.grant.granted_cores.reset();
  workload.grant.freed_cores.reset();
  workload.grant.high_bytes.reset();
  workload.grant.low.reset();
  workload.grant.state = State::unseen;
}

void Governor::trouble(Workload& workload, const Error& error) {
  if (workload.grant.state != State::trouble) troubles_.push_back(error);
  workload.grant.state = State::trouble;
}

// Returns true if the keeper may still answer, and schedules the next try.
bool Governor::waits(Workload& workload, const Error& error, MonoTime now) {
  if (error.code != Errc::timeout && error.code != Errc::unavailable) return false;
  if (!workload.slow_since) workload.slow_since = now;
  if (now - *workload.slow_since >= kSlowPatience) return false;
  workload.retry_at = now + kSecond;
  trouble(workload, error);
  return true;
}

// Checks that the cgroup has the files of the workload's level, with a period that the rule is made for.
Status Governor::check_files(const Workload& workload, const Target& cgroup) {
  if (workload.level == Level::protect) return cgroups_.require(cgroup, Knob::low_bytes);
  WATTLE_CHECK(cgroups_.require(cgroup, Knob::quota_us));
  WATTLE_TRY(const auto period_us, cgroups_.period_us(cgroup));
  if (period_us == kPeriodUs) return {};
  return fail(Errc::unsupported, workload.path,
              "its period is " + std::to_string(period_us) + " us; the rule is for 100000", "set that one");
}

void Governor::seek(Workload& workload, MonoTime now) {
  if (now - workload.sought_at < kSeekEvery) return;
  workload.sought_at = now;
  const auto fail_with = [&](const Error& error) {
    if (error.code != Errc::not_found) trouble(workload, error);
  };
  const auto cgroup = cgroups_.find(workload.path);
  if (!cgroup) return fail_with(cgroup.error());
  if (const auto can = check_files(workload, *cgroup); !can) return fail_with(can.error());
  auto target = writes(workload.level) ? limits_.find(workload.path) : cgroup;
  if (!target) return fail_with(target.error());
  auto meter = Meter::open_(cgroups_, *cgroup);
  if (!meter) return fail_with(meter.error());
  constexpr std::array kOfLimits{Knob::quota_us, Knob::burst_us, Knob::high_bytes};
  constexpr std::array kOfProtection{Knob::low_bytes};
  std::span<const Knob> knobs = kKnobs;
  if (workload.level == Level::limits) knobs = kOfLimits;
  if (workload.level == Level::protect) knobs = kOfProtection;
  const auto originals = ledger_.originals(*target, knobs);
  if (!originals) return fail_with(originals.error());
  workload.target = std::move(*target);
  workload.cgroup = *cgroup;
  workload.meter = std::move(*meter);
  workload.originals = *originals;
  StudentRules rules = rules_.student;
  const auto quota = workload.originals[Knob::quota_us];
  rules.most_cores = load_.cores();
  if (quota && *quota != kUnlimited)
    rules.most_cores = std::min(rules.most_cores, static_cast<double>(*quota) / kPeriod);
  rules.least_cores = std::min(rules.least_cores, rules.most_cores);
  if (!workload.originals[Knob::burst_us]) rules.burst_ratio = 0;
  workload.student = Student(rules);
  workload.memory = MemoryRule();
  workload.protection = ProtectionRule();
  workload.margin_ratio = rules_.margin_ratio;
  workload.memory_ratio = models::provision::kRuleMemory;
  workload.memory_limited = false;
  workload.use.reset();
  workload.ticks = 0;
  workload.minute.reset();
  workload.memory_at = workload.looked_at = now;
  workload.wrote_at = now - kUnitEvery;
  workload.grant.minute.reset();
  workload.grant.state = State::learning;
}

bool Governor::observe(Workload& workload, MonoTime now) {
  const auto use = workload.meter->cpu(workload.ticks++ % kUsageEvery == 0);
  if (!use) {
    lose(workload);
    if (use.error().code != Errc::not_found) trouble(workload, use.error());
    return false;
  }
  std::optional<Wish> wish;
  if (workload.use && now > workload.at && use->used_us >= workload.use->used_us) {
    StudentReading reading;
    reading.elapsed_s = seconds(now - workload.at);
    reading.used_s = static_cast<double>(use->used_us - workload.use->used_us) / 1e6;
    reading.throttled = use->throttled > workload.use->throttled;
    wish = workload.student.observe(reading, workload.margin_ratio);
    workload.grant.used_cores += 0.1 * (reading.used_s / reading.elapsed_s - workload.grant.used_cores);
    throttled_us_ += use->throttled_us - std::min(use->throttled_us, workload.use->throttled_us);
    const std::uint64_t written =
        workload.grant.refills - std::exchange(workload.watched_refills, workload.grant.refills);
    workload.watch.add(
        {reading.used_s,
         models::provision::granted_s(workload.set ? workload.set->cores() : 0, reading.elapsed_s, written),
         reading.throttled});
    workload.watch.end_tick(reading.elapsed_s);
  }
  workload.use = *use;
  workload.at = now;
  workload.wishes = wish.has_value();
  if (wish) workload.wish = *wish;
  return workload.wishes;
}

void Governor::apply(Workload& workload, MonoTime now) {
  Values wanted;
  if (workload.set) {
    wanted[Knob::quota_us] = workload.set->quota_us;
    if (workload.originals[Knob::burst_us]) wanted[Knob::burst_us] = workload.set->burst_us;
  }
  wanted[Knob::high_bytes] = workload.high_bytes;
  wanted[Knob::low_bytes] = workload.low_bytes;
  const auto outcome = ledger_.set(*workload.target, wanted, now);
  if (!outcome) {
    if (waits(workload, outcome.error(), now)) return;
    lose(workload);
    trouble(workload, outcome.error());
    workload.sought_at = now + kHandsOff - kSeekEvery;
    return;
  }
  workload.looked_at = now;
  workload.slow_since.reset();
  if (*outcome == Outcome::done) {
    workload.grant.state = ledger_.holds(*workload.target) ? State::set : State::learning;
    return;
  }
  // Limits of another writer are in force; after kHandsOff they become the originals.
  lose(workload);
  if (*outcome == Outcome::hands_off) {
    workload.grant.state = State::hands_off;
    workload.sought_at = now + kHandsOff - kSeekEvery;
  }
}

void Governor::act(Workload& workload, const Wish& allowed, MonoTime now) {
  auto next = workload.student.decide(allowed, workload.set);
  if (!next) return;
  const auto original = workload.originals[Knob::quota_us];
  if (original && *original != kUnlimited) next->quota_us = std::min(next->quota_us, *original);
  next->burst_us = std::min(next->burst_us, next->quota_us);
  if (workload.set == next) return;
  const bool unit = workload.target->seam == Seam::unit;
  if (unit && workload.set && next->quota_us <= workload.set->quota_us && now - workload.wrote_at < kUnitEvery) return;
  workload.wrote_at = now;
  workload.set = next;
  workload.grant.granted_cores = next->cores();
  workload.grant.freed_cores.reset();
  if (original && *original != kUnlimited)
    workload.grant.freed_cores = static_cast<double>(*original) / kPeriod - next->cores();
  if (!writes(workload.level)) {
    workload.grant.state = State::suggested;
    return;
  }
  if (workload.slow_since) return;  // the next retry applies it
  ++workload.grant.refills;
  apply(workload, now);
}

// Retries limits that could not be restored before, and checks the limits in force.
void Governor::put_back_strays(MonoTime now) {
  if (ledger_.held() == 0) return;
  for (const Target& target : ledger_.targets()) {
    const auto workload = workloads_.find(target.name);
    const bool ours =
        workload != workloads_.end() && workload->second->target == target && writes(workload->second->level);
    if (!ours) {
      static_cast<void>(ledger_.restore(target));
      continue;
    }
    Workload& mine = *workload->second;
    if (mine.slow_since) continue;
    if (now - mine.looked_at < (target.seam == Seam::unit ? kUnitEvery : kSecond)) continue;
    mine.looked_at = now;
    const auto seen = ledger_.look(target, now);
    if (!seen) {
      if (!waits(mine, seen.error(), now)) trouble(mine, seen.error());
    } else if (*seen != Outcome::done) {
      lose(mine);
      if (*seen == Outcome::gone) continue;
      mine.grant.state = State::hands_off;
      mine.sought_at = now + kHandsOff - kSeekEvery;
    }
  }
}

void Governor::tick(MonoTime now) {
  merge(now);
  hear_requests();
  const bool second = !begun_ || now - second_at_ >= kSecond;
  if (second) put_back_strays(now);
  wishing_.clear();
  wishes_.clear();
  for (auto& [path, workload] : workloads_) {
    if (!workload->target) seek(*workload, now);
    if (!workload->target || !observe(*workload, now)) continue;
    if (workload->level == Level::protect) {
      if (workload->slow_since && now >= workload->retry_at) apply(*workload, now);
      if (workload->target) observe_memory(*workload, now);
      continue;
    }
    wishing_.push_back(workload.get());
    wishes_.push_back(workload->wish);
  }
  if (second) {
    if (auto read = load_.read(now, throttled_us_); !read) troubles_.push_back(read.error());
    second_at_ = now;
    begun_ = true;
  }
  double headroom = load_.headroom_cores().value_or(0);
  if (reported_ && reported_->headroom_cores) headroom = std::min(headroom, *reported_->headroom_cores);
  bound_boosts(wishes_, headroom);
  for (std::size_t i = 0; i < wishing_.size(); ++i) {
    act(*wishing_[i], wishes_[i], now);
    if (wishing_[i]->slow_since && now >= wishing_[i]->retry_at) apply(*wishing_[i], now);
    if (!wishing_[i]->target) continue;
    observe_memory(*wishing_[i], now);
    if (wishing_[i]->target) move_margin(*wishing_[i], now);
  }
}

actuation::Report Governor::report() const {
  actuation::Report out;
  out.headroom_cores = load_.headroom_cores();
  out.foreign = ledger_.foreign();
  out.student_out = student_out();
  if (reported_) out.core_power_w = reported_->core_power_w;
  for (const auto& [path, workload] : workloads_) {
    auto& grant = out.grants.emplace_back(workload->grant);
    if (!grant.minute || (reported_ && reported_->memory)) continue;
    grant.minute->memory.reset();
    grant.minute->student_out = false;
  }
  return out;
}

std::vector<Error> Governor::take_troubles() { return std::exchange(troubles_, {}); }

}  // namespace wattle::actuator
