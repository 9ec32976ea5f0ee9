// Records of a session: puts records and gaps into the state and the store in their turn, and shows live ones ahead of
// it.
#include <algorithm>
#include <utility>

#include "common/wire/codec.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/ingest/validate.hpp"

namespace wattle::controller {
namespace {

constexpr std::uint64_t kMaxLivePerS = 256;  // records: ten intervals of a second, of 25 parts each
constexpr const char* kBeforeContact = "before the first contact";  // content unknown

}  // namespace

// Records that were left out before this one.
std::optional<StoreGap> Telemetry::gap_before(const std::string& node, const History& history,
                                              const RecordMark& mark) const {
  const auto mine = history.marks.find(mark.incarnation);
  const std::uint64_t last = mine == history.marks.end() ? 0 : mine->second.taken;
  if (mark.seq <= last + 1) return std::nullopt;
  return StoreGap{node, mark.incarnation, last + 1, mark.seq - 1,
                  history.marks.empty() ? kBeforeContact : "never received"};
}

void Telemetry::set_taken(History& history, const RecordMark& mark) const {
  Seqs& seqs = history.marks[mark.incarnation];
  seqs.taken = mark.seq;
  if (store_ == nullptr) seqs.committed = mark.seq;
  while (history.marks.size() > kMarksPerNode) history.marks.erase(history.marks.begin());
}

// Records the gap that the agent reports, as far as later numbers have not shown it.
Telemetry::Taken Telemetry::take_gap(const std::string& node, History& history, const RecordGap& gap) {
  const auto mine = history.marks.find(gap.incarnation);
  const std::uint64_t taken = mine == history.marks.end() ? 0 : mine->second.taken;
  const bool over = mine == history.marks.end() && history.marks.size() >= kMarksPerNode &&
                    gap.incarnation < history.marks.begin()->first;
  if (over || gap.last_seq <= taken) return Taken::no;
  if (store_ != nullptr && store_->full()) return Taken::full;
  const auto skipped = gap_before(node, history, {gap.incarnation, gap.first_seq});
  const auto keep = [&](StoreGap lost) {
    if (lost.why != kBeforeContact) figures_.missing += lost.records();
    const RecordMark end{gap.incarnation, lost.last_seq};
    set_taken(history, end);
    if (store_ == nullptr) return;
    store_->add({node, end, false, {}, {}, std::move(lost)});
    ++history.pending;
  };
  if (skipped) keep(*skipped);
  keep({node, gap.incarnation, std::max(gap.first_seq, taken + 1), gap.last_seq, "lost by the agent"});
  return Taken::yes;
}

Telemetry::Taken Telemetry::take(const std::string& node, History& history, Record& record) {
  const RecordMark mark{record.incarnation, record.seq};
  const auto mine = history.marks.find(mark.incarnation);
  const bool over = mine == history.marks.end() && history.marks.size() >= kMarksPerNode &&
                    mark.incarnation < history.marks.begin()->first;
  if (over || (mine != history.marks.end() && mark.seq <= mine->second.taken)) {
    ++figures_.duplicates;
    return Taken::no;
  }
  if (store_ != nullptr && store_->full()) return Taken::full;
  StoreItem item{node, mark, false, {}, {}, gap_before(node, history, mark)};
  if (item.gap && item.gap->why != kBeforeContact) figures_.missing += item.gap->records();
  set_taken(history, mark);
  Status valid = validate(record);
  // Too many incarnations: this one's mark was not kept.
  if (const auto seqs = history.marks.find(mark.incarnation); valid && seqs != history.marks.end())
    valid = seqs->second.measured.add(record);
  reading_->changed = false;
  if (valid) {
    ++figures_.records;
    reading_->changed = sink_.name(node, record);
    reading_->changed = fold(node, history, record) || reading_->changed;
    sink_.on_record(node, record);
  } else {
    ++figures_.refused;
    if (!std::exchange(history.refused_reported, true))
      log_.warn("record.refused", "a record was rejected; further ones of this node are not logged",
                {{"node", node}, {"error", valid.error()}});
  }
  item.refused = !valid;
  if (store_ != nullptr) reading_->item = std::move(item);
  return Taken::yes;
}

void Telemetry::keep_item(History& history, Record& record, std::string_view bytes) {
  if (!reading_->item) return;
  StoreItem item = *std::exchange(reading_->item, std::nullopt);
  item.bytes =
      reading_->changed ? wire::encode_record(record) : std::string(bytes);  // the ledger may be rebuilt from it
  item.record = std::move(record);
  store_->add(std::move(item));
  ++history.pending;
}

bool Telemetry::fold(const std::string& node, History& history, Record& record) {
  const std::size_t folded = sink_.fold(node, record);
  if (folded > 0 && !std::exchange(history.folded_reported, true))
    log_.warn("record.workloads_folded",
              "a node reports too many workloads; the controller combines the excess into one",
              {{"node", node}, {"folded", static_cast<std::uint64_t>(folded)}});
  return folded > 0;
}

std::vector<wire::Message> Telemetry::on_samples(const transport::Incoming& from, Session& session,
                                                 wire::Samples& samples) {
  const std::string& node = from.identity.name;
  History& history = history_[node];
  for (const RecordGap& gap : samples.gaps) {
    const bool sensible = gap.first_seq > 0 && gap.first_seq <= gap.last_seq && gap.last_seq <= kMaxNumber &&
                          gap.incarnation < session.incarnation;
    if (!sensible) return refuse(from, node, "reports impossible gaps", "upgrade the agent");
    if (take_gap(node, history, gap) == Taken::full)
      return refuse(from, node, "its records arrive faster than they can be stored", "it can reconnect in a moment");
  }
  if (samples.records.empty()) return {};
  count_in_second(session, samples.records.size());
  clocks_.see(node, samples.records.back(), session.incarnation, clock_);
  reading_.emplace(Reading{from, std::move(samples.records), false, 0, {}, false});
  return read_on();
}

std::vector<wire::Message> Telemetry::read_on() {
  const std::string& node = reading_->from.identity.name;
  Session& session = sessions_.at(node);
  History& history = history_[node];
  const std::size_t all = reading_->records.size();
  for (bool progress = false;; progress = true) {
    if (progress && sink_.pause()) return {};
    if (sink_.step()) continue;
    std::size_t& next = reading_->next;
    if (next > 0 && !reading_->live) keep_item(history, reading_->records[next - 1], record_bytes_[next - 1]);
    if (next == all) break;
    if (reading_->live) {
      show_next(session, history);
      continue;
    }
    if (next > 0 && sink_.enough()) {
      leave_rest(session);
      break;
    }
    if (auto refusal = take_next(session, history); !refusal.empty()) {
      reading_.reset();
      return refusal;
    }
  }
  const bool live = reading_->live;
  reading_.reset();
  // Otherwise the acknowledgement follows the store's next commit of this node's records.
  if (live || history.pending > 0 || session.received == RecordMark{}) return {};
  return {ack(node, session, session.received)};
}

std::vector<wire::Message> Telemetry::take_next(Session& session, History& history) {
  const transport::Incoming& from = reading_->from;
  const std::string& node = from.identity.name;
  Record& record = reading_->records[reading_->next++];
  const RecordMark mark{record.incarnation, record.seq};
  if (record.incarnation > session.incarnation || record.seq == 0 || record.seq > kMaxNumber) {
    ++figures_.refused;
    return {};
  }
  if (history.pending >= kMaxPending)
    return refuse(from, node, "sends more records than its credit allows", "upgrade the agent");
  if (take(node, history, record) == Taken::full)
    return refuse(from, node, "its records arrive faster than they can be stored", "it can reconnect in a moment");
  session.received = std::max(session.received, mark);
  return {};
}

// Leaves the records that have not been read for take_rest().
void Telemetry::leave_rest(Session& session) {
  std::vector<EncodedRecord> left;
  for (std::size_t i = reading_->next; i < record_bytes_.size(); ++i)
    left.push_back({{}, std::string(record_bytes_[i])});
  session.in_second -= std::min<std::uint64_t>(session.in_second, left.size());  // they are counted then
  rest_ = wire::encode_samples(left);
}

void Telemetry::count_in_second(Session& session, std::size_t records) const {
  const MonoTime now = clock_.mono();
  if (now - session.second_began >= std::chrono::seconds(1)) {
    session.second_began = now;
    session.in_second = session.live_in_second = session.pings_in_second = 0;
  }
  session.in_second += records;
}

// Shown to current readers only; neither the mark nor the store includes it.
std::vector<wire::Message> Telemetry::on_live(const transport::Incoming& from, Session& session, wire::Live& live) {
  const std::string& node = from.identity.name;
  count_in_second(session, 0);
  session.live_in_second += std::max<std::size_t>(1, live.records.size());
  if (session.live_in_second > kMaxLivePerS)
    return refuse(from, node, "sends live values too often", "upgrade the agent");
  if (!live.records.empty()) clocks_.see(node, live.records.back(), session.incarnation, clock_);
  reading_.emplace(Reading{from, std::move(live.records), true, 0, {}, false});
  return read_on();
}

void Telemetry::show_next(const Session& session, const History& history) {
  const std::string& node = reading_->from.identity.name;
  Record& record = reading_->records[reading_->next++];
  const auto mine = history.marks.find(record.incarnation);
  const std::uint64_t taken = mine == history.marks.end() ? 0 : mine->second.taken;
  if (record.incarnation != session.incarnation || record.seq <= taken || record.seq > kMaxNumber) return;
  if (!validate(record)) return;  // counted and logged when it comes in its turn
  sink_.name(node, record);
  sink_.fold(node, record);  // counted and logged when it comes in its turn
  sink_.on_live(node, record);
}

}  // namespace wattle::controller
