#include "actuator/governor.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace wattle::actuator {

using actuation::Level;
using actuation::State;
using actuation::writes;

namespace {
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kSeekEvery = std::chrono::seconds(1);
constexpr Duration kMemoryEvery = std::chrono::seconds(5);
constexpr std::uint64_t kUsageEvery = 5;  // ticks; throttling is read at every tick
constexpr double kPeriod = static_cast<double>(kPeriodUs);
}  // namespace

Governor::Governor(CgroupLimits& cgroups, Limits& limits, Ledger& ledger, NodeLoad load, Rules rules)
    : cgroups_(cgroups),
      limits_(limits),
      ledger_(ledger),
      load_(std::move(load)),
      rules_(rules),
      student_(rules.throttled_aim_ratio, rules.student_throttled_ratio) {}

void Governor::steer_by(models::provision::Network student) {
  student_.set(std::move(student));
  for (auto& [path, workload] : workloads_) workload->margin.on_new_student(student_.new_trial());
}

// Adds and removes workloads according to the orders.
void Governor::merge(MonoTime now) {
  const auto levels = orders_.take_levels(now);
  if (!levels) return;
  for (auto it = workloads_.begin(); it != workloads_.end();) {
    if (levels->contains(it->first)) {
      ++it;
      continue;
    }
    lose(*it->second);
    it = workloads_.erase(it);
  }
  for (const auto& [path, level] : *levels) {
    auto& workload = workloads_[path];
    if (!workload) {
      workload = std::make_unique<Workload>(student_.new_trial());
      workload->grant.path = path;
      workload->sought_at = now - kSeekEvery;
    }
    // The new level may use another keeper (kernel or systemd), so the target is looked up again.
    if (workload->grant.level != level) lose(*workload);
    workload->grant.level = level;
  }
}

// Copies latencies and steps from the orders; workloads without an order have none.
void Governor::pass_orders() {
  if (!orders_.take_received()) return;
  for (auto& [path, workload] : workloads_) workload->margin.order({}, {});
  if (!orders_.agent()) return;
  for (const auto& order : orders_.agent()->orders)
    if (const auto found = workloads_.find(order.path); found != workloads_.end())
      found->second->margin.order(order.requests, order.step);
}

// Restores the original limits and forgets the target; a workload that is still ordered is found again.
void Governor::lose(Workload& workload) {
  if (const auto& target = workload.limits.target()) {
    for (const Error& error : ledger_.restore(*target).failed) trouble(workload, error);
    limits_.forget(*target);
  }
  workload.limits.clear();
  workload.meter.reset();
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
  if (!workload.limits.waits(error, now)) return false;
  trouble(workload, error);
  return true;
}

// Checks that the cgroup has the files of the workload's level, with a period that the rule supports.
Status Governor::check_files(const Workload& workload, const Target& cgroup) {
  if (workload.grant.level == Level::protect) return cgroups_.require(cgroup, Knob::low_bytes);
  WATTLE_CHECK(cgroups_.require(cgroup, Knob::quota_us));
  WATTLE_TRY(const auto period_us, cgroups_.period_us(cgroup));
  if (period_us == kPeriodUs) return {};
  return fail(Errc::unsupported, workload.grant.path,
              "its period is " + std::to_string(period_us) + " us, but the rule needs 100000", "set that one");
}

void Governor::seek(Workload& workload, MonoTime now) {
  if (now - workload.sought_at < kSeekEvery) return;
  workload.sought_at = now;
  const auto fail_with = [&](const Error& error) {
    if (error.code != Errc::not_found) trouble(workload, error);
  };
  const auto cgroup = cgroups_.find(workload.grant.path);
  if (!cgroup) return fail_with(cgroup.error());
  if (const auto can = check_files(workload, *cgroup); !can) return fail_with(can.error());
  auto target = writes(workload.grant.level) ? limits_.find(workload.grant.path) : cgroup;
  if (!target) return fail_with(target.error());
  auto meter = Meter::open_(cgroups_, *cgroup);
  if (!meter) return fail_with(meter.error());
  constexpr std::array kOfLimits{Knob::quota_us, Knob::burst_us, Knob::high_bytes};
  constexpr std::array kOfProtection{Knob::low_bytes};
  std::span<const Knob> knobs = kKnobs;
  if (workload.grant.level == Level::limits) knobs = kOfLimits;
  if (workload.grant.level == Level::protect) knobs = kOfProtection;
  const auto originals = ledger_.originals(*target, knobs);
  if (!originals) return fail_with(originals.error());
  workload.limits.adopt(std::move(*target), *originals, now);
  workload.cgroup = *cgroup;
  workload.meter = std::move(*meter);
  start(workload, now);
}

// Starts to learn about a workload that was found.
void Governor::start(Workload& workload, MonoTime now) {
  StudentRules rules = rules_.student;
  rules.most_cores = load_.cores();
  if (const auto quota_us = workload.limits.original_quota_us())
    rules.most_cores = std::min(rules.most_cores, static_cast<double>(*quota_us) / kPeriod);
  rules.least_cores = std::min(rules.least_cores, rules.most_cores);
  if (!workload.limits.originals()[Knob::burst_us]) rules.burst_ratio = 0;
  workload.student = Student(rules);
  workload.margin.restart(rules_.margin_ratio);
  workload.memory.rule = MemoryRule();
  workload.memory.protection = ProtectionRule();
  workload.memory.at = now;
  workload.cpu.use.reset();
  workload.cpu.ticks = 0;
  workload.grant.state = State::learning;
}

std::optional<Wish> Governor::observe(Workload& workload, MonoTime now) {
  CpuWatch& cpu = workload.cpu;
  const auto use = workload.meter->cpu(cpu.ticks++ % kUsageEvery == 0);
  if (!use) {
    lose(workload);
    if (use.error().code != Errc::not_found) trouble(workload, use.error());
    return std::nullopt;
  }
  std::optional<Wish> wish;
  if (cpu.use && now > cpu.at && use->used_us >= cpu.use->used_us) {
    StudentReading reading;
    reading.elapsed_s = seconds(now - cpu.at);
    reading.used_s = static_cast<double>(use->used_us - cpu.use->used_us) / 1e6;
    reading.throttled = use->throttled > cpu.use->throttled;
    wish = workload.student.observe(reading, workload.margin.ratio());
    workload.grant.used_cores += 0.1 * (reading.used_s / reading.elapsed_s - workload.grant.used_cores);
    throttled_us_ += use->throttled_us - std::min(use->throttled_us, cpu.use->throttled_us);
    const std::uint64_t written = workload.grant.refills - std::exchange(cpu.refills, workload.grant.refills);
    const double limit_cores = workload.limits.cpu() ? workload.limits.cpu()->cores() : 0;
    workload.margin.add_tick(
        {reading.used_s, models::provision::granted_s(limit_cores, reading.elapsed_s, written), reading.throttled},
        reading.elapsed_s);
  }
  cpu.use = *use;
  cpu.at = now;
  return wish;
}

void Governor::apply(Workload& workload, MonoTime now) {
  const auto outcome = workload.limits.write(ledger_, now);
  if (!outcome) {
    if (waits(workload, outcome.error(), now)) return;
    lose(workload);
    trouble(workload, outcome.error());
    workload.sought_at = now + kHandsOff - kSeekEvery;
    return;
  }
  if (*outcome == Outcome::done) {
    workload.grant.state = ledger_.holds(*workload.limits.target()) ? State::set : State::learning;
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
  HeldLimits& limits = workload.limits;
  const auto next = workload.student.decide(allowed, limits.cpu());
  if (!next || !limits.set_cpu(*next, now)) return;
  const double cores = limits.cpu()->cores();
  workload.grant.granted_cores = cores;
  workload.grant.freed_cores.reset();
  if (const auto original_us = limits.original_quota_us())
    workload.grant.freed_cores = static_cast<double>(*original_us) / kPeriod - cores;
  if (!writes(workload.grant.level)) {
    workload.grant.state = State::suggested;
    return;
  }
  if (limits.slow()) return;  // the next retry applies it
  ++workload.grant.refills;
  apply(workload, now);
}

// Our limits are in force only in the state `set`.
void Governor::move_margin(Workload& workload, MonoTime now) {
  if (workload.grant.state != State::set) return workload.margin.stop();
  workload.margin.move({workload.grant.path, *workload.cpu.use, load_.cores(), workload.memory.rule.used_over_peak()},
                       student_, troubles_, now);
}

void Governor::observe_memory(Workload& workload, MonoTime now) {
  const bool protects = workload.grant.level == Level::protect;
  if ((!rules_.memory && !protects) || now - workload.memory.at < kMemoryEvery) return;
  workload.memory.at = now;
  auto use = workload.meter->memory();
  if (!use) {
    if (use.error().code != Errc::not_found) trouble(workload, use.error());
    return;
  }
  if (!*use) return;
  (*use)->used_us = workload.cpu.use->used_us;
  (*use)->throttled_us = workload.cpu.use->throttled_us;
  auto high = workload.memory.rule.observe(**use, now, workload.margin.memory_ratio());
  const bool moved = move_protection(workload, **use, now);
  if (protects) {
    if (moved && !workload.limits.slow()) apply(workload, now);
    return;
  }
  const auto original = workload.limits.originals()[Knob::high_bytes];
  if (!original) high.reset();
  if (high) high = std::min(*high, *original);
  workload.margin.add_memory(**use, high, workload.memory.rule.hurt());
  if (high && *high == *original) high.reset();
  if (high == workload.limits.high_bytes) return;
  workload.limits.high_bytes = high;
  workload.grant.high_bytes = high;
  if (workload.grant.level == Level::limits && workload.limits.cpu() && !workload.limits.slow()) apply(workload, now);
}

// Updates the protection that is reported. Returns true if memory.low must be written.
bool Governor::move_protection(Workload& workload, const MemoryUse& use, MonoTime now) {
  const auto original = workload.limits.originals()[Knob::low_bytes];
  if (!original) return false;
  const auto above = cgroups_.protection_above(*workload.cgroup);
  if (!above) {
    if (above.error().code != Errc::not_found && workload.grant.level == Level::protect)
      trouble(workload, above.error());
    return false;
  }
  const std::int64_t wanted = workload.memory.protection.observe(use.low_events, workload.memory.rule.usual_bytes(),
                                                                 protectable_bytes(workload), now);
  const std::int64_t low = std::max(wanted, *original);
  workload.grant.low = actuation::Protection{low, std::min(low, above->bytes)};
  if (workload.grant.level != Level::protect) return false;
  report_ancestor(workload, *above);
  const auto next = low > *original ? std::optional(low) : std::nullopt;
  if (next == workload.limits.low_bytes) return false;
  workload.limits.low_bytes = next;
  return true;
}

// Bytes that the other protected workloads leave.
std::int64_t Governor::protectable_bytes(const Workload& workload) const {
  std::int64_t left = rules_.most_protected_bytes;
  for (const auto& [path, other] : workloads_)
    if (other.get() != &workload && other->limits.low_bytes)
      left = std::max<std::int64_t>(0, left - *other->limits.low_bytes);
  return left;
}

void Governor::report_ancestor(Workload& workload, const AncestorProtection& above) {
  if (above.bytes > 0) {
    workload.memory.least_ancestor.clear();
    return;
  }
  if (workload.memory.least_ancestor == above.path) return;
  workload.memory.least_ancestor = above.path;
  troubles_.push_back({Errc::unsupported, above.path + "/memory.low",
                       "is 0, so " + workload.grant.path + " is protected only from other cgroups below " + above.path +
                           ", not from the rest of the node",
                       "set it to the sum that the cgroups below may protect, for a slice: systemctl set-property "
                       "system.slice MemoryLow=4G"});
}

// Retries limits that could not be restored before, and checks the limits in force.
void Governor::put_back_strays(MonoTime now) {
  if (ledger_.held() == 0) return;
  for (const Target& target : ledger_.targets()) {
    const auto workload = workloads_.find(target.name);
    const bool ours = workload != workloads_.end() && workload->second->limits.target() == target &&
                      writes(workload->second->grant.level);
    if (!ours) {
      static_cast<void>(ledger_.restore(target));
      continue;
    }
    Workload& mine = *workload->second;
    const auto seen = mine.limits.look(ledger_, now);
    if (!seen) continue;
    if (!*seen) {
      if (!waits(mine, seen->error(), now)) trouble(mine, seen->error());
    } else if (**seen != Outcome::done) {
      lose(mine);
      if (**seen == Outcome::gone) continue;
      mine.grant.state = State::hands_off;
      mine.sought_at = now + kHandsOff - kSeekEvery;
    }
  }
}

void Governor::tick(MonoTime now) {
  merge(now);
  pass_orders();
  const bool second = !second_at_ || now - *second_at_ >= kSecond;
  if (second) put_back_strays(now);
  std::vector<Workload*> wishing;
  std::vector<Wish> wishes;
  for (auto& [path, workload] : workloads_) {
    if (!workload->limits.target()) seek(*workload, now);
    if (!workload->limits.target()) continue;
    const auto wish = observe(*workload, now);
    if (!wish) continue;
    if (workload->grant.level == Level::protect) {
      if (workload->limits.retry_due(now)) apply(*workload, now);
      if (workload->limits.target()) observe_memory(*workload, now);
      continue;
    }
    wishing.push_back(workload.get());
    wishes.push_back(*wish);
  }
  if (second) {
    if (auto read = load_.read(now, throttled_us_); !read) troubles_.push_back(read.error());
    second_at_ = now;
  }
  double headroom = load_.headroom_cores().value_or(0);
  if (orders_.agent() && orders_.agent()->headroom_cores)
    headroom = std::min(headroom, *orders_.agent()->headroom_cores);
  bound_boosts(wishes, headroom);
  for (std::size_t i = 0; i < wishing.size(); ++i) {
    Workload& workload = *wishing[i];
    act(workload, wishes[i], now);
    if (workload.limits.retry_due(now)) apply(workload, now);
    if (!workload.limits.target()) continue;
    observe_memory(workload, now);
    if (workload.limits.target()) move_margin(workload, now);
  }
}

actuation::Report Governor::report() const {
  actuation::Report out;
  out.headroom_cores = load_.headroom_cores();
  out.foreign = ledger_.foreign();
  out.student_out = student_out();
  if (orders_.agent()) out.core_power_w = orders_.agent()->core_power_w;
  for (const auto& [path, workload] : workloads_) {
    auto& grant = out.grants.emplace_back(workload->grant);
    grant.minute = workload->margin.minute();
    if (!grant.minute || (orders_.agent() && orders_.agent()->memory)) continue;
    grant.minute->memory.reset();
    grant.minute->student_out = false;
  }
  return out;
}

std::size_t Governor::student_out() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(workloads_, [](const auto& entry) { return !entry.second->margin.student_in_use(); }));
}

std::optional<double> Governor::margin_ratio(const std::string& path) const {
  const auto found = workloads_.find(path);
  return found == workloads_.end() ? std::nullopt : std::optional(found->second->margin.ratio());
}

std::vector<Error> Governor::take_troubles() { return std::exchange(troubles_, {}); }

}  // namespace wattle::actuator
