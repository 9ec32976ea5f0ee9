#include "actuator/ledger.hpp"

#include <algorithm>
#include <utility>

namespace wattle::actuator {

namespace {
// Order of writes in which burst never exceeds quota.
std::array<Knob, 4> in_order(std::optional<std::int64_t> burst_now, std::optional<std::int64_t> quota_then) {
  auto order = kKnobs;
  if (burst_now && quota_then && *quota_then < *burst_now) std::swap(order[0], order[1]);
  return order;
}

bool of_cpu(Knob knob) { return knob == Knob::quota_us || knob == Knob::burst_us; }

std::string text_of(std::int64_t value) { return value == kUnlimited ? "max" : std::to_string(value); }

std::optional<std::int64_t> last_of(const Record* record) {
  return record != nullptr ? std::optional(record->next) : std::nullopt;
}
}  // namespace

Result<Outcome> Ledger::gone(const Target& target) {
  for (const Knob knob : kKnobs)
    if (journal_.records().find(target, knob) != nullptr) WATTLE_CHECK(journal_.done(target, knob));
  off_until_.erase(target);
  limits_.forget(target);
  return Outcome::gone;
}

Result<Outcome> Ledger::check(const Target& target, MonoTime now, const Values& wanted, Values* current) {
  Values seen;
  bool foreign = false;
  const auto concerned = [&](Knob knob) { return wanted[knob] || journal_.records().find(target, knob) != nullptr; };
  // The kernel checks quota and burst against each other.
  const bool cpu = current != nullptr && (concerned(Knob::quota_us) || concerned(Knob::burst_us));
  for (const Knob knob : kKnobs) {
    const Record* record = journal_.records().find(target, knob);
    if (!concerned(knob) && !(cpu && of_cpu(knob))) continue;
    const auto value = limits_.read(target, knob, last_of(record));
    if (!value && value.error().code == Errc::not_found) return gone(target);
    if (!value && value.error().code == Errc::unsupported && record == nullptr) continue;
    if (!value) return tl::unexpected<Error>(value.error());
    seen[knob] = *value;
    foreign = foreign || (record != nullptr && !record->ours(*value));
  }
  if (foreign) WATTLE_CHECK(leave(target, seen, now));
  if (const auto off = off_until_.find(target); off != off_until_.end()) {
    if (now < off->second) return Outcome::hands_off;
    off_until_.erase(off);
  }
  if (current != nullptr) *current = seen;
  return Outcome::done;
}

// Another writer changed a limit: keeps it, and restores the originals of ours.
Status Ledger::leave(const Target& target, const Values& seen, MonoTime now) {
  ++foreign_;
  off_until_[target] = now + kHandsOff;
  Restored restored;
  put_back(target, seen, restored);
  if (!restored.failed.empty()) return tl::unexpected<Error>(restored.failed.front());
  return {};
}

// Before the first write of a knob: records whether it will create a drop-in.
Status Ledger::note_trace(const Target& target, Knob knob, std::int64_t current) {
  if (!limits_.leaves_trace(target, knob)) return {};
  const auto planted = journal_.planted().find({target, knob});
  const bool known = planted != journal_.planted().end();
  switch (limits_.trace(target, knob, known ? planted->second : current)) {
    case Trace::none:
      return journal_.plant(target, knob, current);
    case Trace::other:
      return known ? journal_.pull(target, knob) : Status();
    case Trace::says:
      return {};
  }
  return {};
}

// Ends our record of a knob that has another writer's value.
Status Ledger::let_go(const Target& target, Knob knob, const Record& record, std::int64_t theirs) {
  WATTLE_CHECK(limits_.yield(target, knob, record.original, theirs));
  const auto planted = journal_.planted().find({target, knob});
  if (planted == journal_.planted().end() || limits_.trace(target, knob, planted->second) == Trace::says) return {};
  for (const std::int64_t ours : {record.before, record.next})
    if (limits_.trace(target, knob, ours) == Trace::says) return journal_.plant(target, knob, ours);
  return {};
}

void Ledger::erase_traces(Restored& out) {
  const Planted planted = journal_.planted();
  for (const auto& [where, value] : planted) {
    const auto& [target, knob] = where;
    if (journal_.records().find(target, knob) != nullptr) continue;
    if (limits_.trace(target, knob, value) == Trace::says)
      if (const auto erased = limits_.erase(target, knob, value); !erased) {
        out.traces.push_back(erased.error());
        continue;
      }
    if (const auto pulled = journal_.pull(target, knob); !pulled) out.failed.push_back(pulled.error());
  }
}

Status Ledger::write(const Target& target, Knob knob, std::int64_t current, std::int64_t value) {
  const bool held = journal_.records().find(target, knob) != nullptr;
  if (!held) {
    WATTLE_CHECK(note_trace(target, knob, current));
    WATTLE_CHECK(journal_.take(target, knob, current));
  }
  WATTLE_CHECK(journal_.intend(target, knob, current, value));
  // Syncing takes long enough for another writer to change the value.
  const auto still = limits_.read(target, knob, current);
  if (still && *still != current) {
    journal_.settle(target, knob, false);
    if (!held) WATTLE_CHECK(journal_.done(target, knob));
    return fail(Errc::conflict, kKnobNames[static_cast<std::size_t>(knob)], "another program changed the limit");
  }
  auto written = limits_.write(target, knob, value);
  if (written || written.error().code != Errc::timeout) journal_.settle(target, knob, written.has_value());
  ++writes_;
  return written;
}

Result<Values> Ledger::originals(const Target& target, std::span<const Knob> knobs) {
  Values values;
  for (const Knob knob : knobs) {
    if (const Record* record = journal_.records().find(target, knob)) {
      values[knob] = record->original;
      continue;
    }
    const auto value = limits_.read(target, knob, std::nullopt);
    if (value)
      values[knob] = *value;
    else if (value.error().code != Errc::unsupported)
      return tl::unexpected<Error>(value.error());
  }
  return values;
}

Result<Outcome> Ledger::set(const Target& target, Values wanted, MonoTime now) {
  Values current;
  WATTLE_TRY(const auto outcome, check(target, now, wanted, &current));
  if (outcome != Outcome::done) return outcome;
  for (const Knob knob : kKnobs) {
    auto& value = wanted[knob];
    const Record* record = journal_.records().find(target, knob);
    if (!value && record != nullptr) value = record->original;
    // Rounding up must not exceed the original.
    const std::int64_t original = record != nullptr ? record->original : current[knob].value_or(0);
    if (value && current[knob] && *value != original)
      value = std::min(limits_.fitted(target, knob, *value), std::max(*value, original));
    if (!current[knob]) value.reset();  // the knob does not exist
  }
  auto& burst = wanted[Knob::burst_us];
  const auto& quota = wanted[Knob::quota_us];
  if (quota && current[Knob::burst_us]) {
    if (!burst) burst = current[Knob::burst_us];
    burst = std::min(*burst, *quota);
  }
  for (const Knob knob : in_order(current[Knob::burst_us], quota)) {
    if (!wanted[knob]) continue;
    if (*wanted[knob] != *current[knob]) {
      auto written = write(target, knob, *current[knob], *wanted[knob]);
      if (!written && written.error().code == Errc::not_found) return gone(target);
      if (!written && written.error().code == Errc::conflict) {
        Values seen;
        for (const Knob each : kKnobs)
          if (const auto value = limits_.read(target, each, last_of(journal_.records().find(target, each))))
            seen[each] = *value;
        WATTLE_CHECK(leave(target, seen, now));
        return Outcome::hands_off;
      }
      if (!written) return forward_error(written);
    }
    // The original value is in force again.
    const Record* record = journal_.records().find(target, knob);
    if (record != nullptr && record->original == *wanted[knob]) WATTLE_CHECK(journal_.done(target, knob));
  }
  return Outcome::done;
}

// `current` has every knob that has a record and could be read.
void Ledger::put_back(const Target& target, const Values& current, Restored& out) {
  const auto finish = [&](Knob knob) {
    // Without this line, the next start finds the original and keeps it.
    if (auto done = journal_.done(target, knob); !done) out.failed.push_back(done.error());
  };
  Values back, theirs;
  for (const Knob knob : kKnobs) {
    const Record* record = journal_.records().find(target, knob);
    if (record == nullptr || !current[knob]) continue;
    if (*current[knob] == record->original) {
      theirs[knob] = *current[knob];
    } else if (record->ours(*current[knob])) {
      back[knob] = record->original;
    } else if (journal_.damage()) {
      out.failed.push_back({Errc::conflict, target.name + " " + kKnobNames[static_cast<std::size_t>(knob)],
                            "is " + text_of(*current[knob]) + ", and was " + text_of(record->original) +
                                " before Wattle's change: the record is damaged, so Wattle may have set the value",
                            "set it to the intended value"});
    } else {
      ++out.foreign;
      theirs[knob] = *current[knob];
    }
  }
  auto& burst = back[Knob::burst_us];
  // Another writer's quota may be below the original burst.
  const auto quota = back[Knob::quota_us] ? back[Knob::quota_us] : current[Knob::quota_us];
  if (burst && quota) burst = std::min(*burst, *quota);
  for (const Knob knob : in_order(current[Knob::burst_us], back[Knob::quota_us])) {
    if (!back[knob]) continue;
    if (*back[knob] != journal_.records().find(target, knob)->original) {
      ++out.waiting;
      auto lowered = *back[knob] == *current[knob] ? Status() : write(target, knob, *current[knob], *back[knob]);
      if (!lowered && lowered.error().code != Errc::not_found) out.failed.push_back(lowered.error());
      continue;
    }
    const auto written = limits_.write(target, knob, *back[knob]);
    ++writes_;
    if (!written && written.error().code != Errc::not_found) {
      out.failed.push_back(written.error());
      continue;
    }
    ++(written ? out.put_back : out.gone);
    finish(knob);
  }
  // Last, because our burst may have kept systemd's new value from taking effect.
  for (const Knob knob : kKnobs) {
    if (!theirs[knob]) continue;
    const Record record = *journal_.records().find(target, knob);
    if (const auto let = let_go(target, knob, record, *theirs[knob]); !let && let.error().code != Errc::not_found)
      out.failed.push_back(let.error());
    else
      finish(knob);
  }
}

Restored Ledger::restore(const Target& target) {
  Restored out;
  Values current;
  for (const Knob knob : kKnobs) {
    const Record* record = journal_.records().find(target, knob);
    if (record == nullptr && !of_cpu(knob)) continue;
    const auto value = limits_.read(target, knob, last_of(record));
    if (value) {
      current[knob] = *value;
    } else if (value.error().code == Errc::not_found) {
      ++out.gone;
      if (const auto ended = gone(target); !ended) out.failed.push_back(ended.error());
      return out;
    } else if (record != nullptr) {
      out.failed.push_back(value.error());
    }
  }
  put_back(target, current, out);
  if (!holds(target)) limits_.forget(target);
  return out;
}

std::vector<Target> Ledger::targets() const {
  std::vector<Target> all;
  for (const auto& [target, knobs] : journal_.records().all()) all.push_back(target);
  return all;
}

Restored Ledger::restore_all() {
  Restored sum;
  sum.damage = journal_.damage();
  for (const Target& target : targets()) {
    Restored one = restore(target);
    sum.put_back += one.put_back;
    sum.foreign += one.foreign;
    sum.gone += one.gone;
    sum.waiting += one.waiting;
    for (auto& error : one.failed) sum.failed.push_back(std::move(error));
  }
  erase_traces(sum);
  return sum;
}

}  // namespace wattle::actuator
