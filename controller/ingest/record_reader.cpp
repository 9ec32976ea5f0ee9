#include "controller/ingest/record_reader.hpp"

#include <algorithm>

#include "common/wire/codec.hpp"

namespace wattle::controller {
namespace {

constexpr const char* kBeforeContact = "before the first contact";  // content unknown
constexpr RecordReader::Complaint kTooFast{"its records arrive faster than they can be stored",
                                           "it can reconnect in a moment"};

// Returns the mark to drop.
template <class Marks>
auto lowest_but(Marks& marks, std::uint64_t incarnation) {
  auto lowest = marks.begin();
  if (lowest->first == incarnation) ++lowest;
  return lowest;
}

// Records that are missing before this one.
std::optional<StoreGap> gap_before(const std::string& node, const NodeHistory& history, const RecordMark& mark) {
  const auto mine = history.marks.find(mark.incarnation);
  const std::uint64_t last = mine == history.marks.end() ? 0 : mine->second.taken;
  if (mark.seq <= last + 1) return std::nullopt;
  return StoreGap{node, mark.incarnation, last + 1, mark.seq - 1,
                  history.marks.empty() ? kBeforeContact : "never received"};
}

}  // namespace

void RecordReader::set_taken(NodeHistory& history, const RecordMark& mark) const {
  Seqs& seqs = history.marks[mark.incarnation];
  seqs.taken = mark.seq;
  if (store_ == nullptr) seqs.committed = mark.seq;
  while (history.marks.size() > kMarksPerNode) history.marks.erase(lowest_but(history.marks, mark.incarnation));
}

std::optional<RecordReader::Complaint> RecordReader::take_gaps(const std::string& node, const Session& session,
                                                               NodeHistory& history,
                                                               const std::vector<RecordGap>& gaps) {
  for (const RecordGap& gap : gaps) {
    const bool sensible = gap.first_seq > 0 && gap.first_seq <= gap.last_seq && gap.last_seq <= kMaxNumber &&
                          gap.incarnation < session.incarnation;
    if (!sensible) return Complaint{"reports impossible gaps", "upgrade the agent"};
    if (take_gap(node, history, gap) == Taken::full) return kTooFast;
  }
  return std::nullopt;
}

RecordReader::Taken RecordReader::take_gap(const std::string& node, NodeHistory& history, const RecordGap& gap) {
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

RecordReader::Taken RecordReader::take(const std::string& node, NodeHistory& history, Record& record,
                                       std::uint64_t current) {
  const RecordMark mark{record.incarnation, record.seq};
  const auto mine = history.marks.find(mark.incarnation);
  const bool over = mine == history.marks.end() && mark.incarnation != current &&
                    history.marks.size() >= kMarksPerNode && mark.incarnation < history.marks.begin()->first;
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

void RecordReader::keep_item(NodeHistory& history, Record& record, std::string_view bytes) {
  if (!reading_->item) return;
  StoreItem item = *std::exchange(reading_->item, std::nullopt);
  item.bytes =
      reading_->changed ? wire::encode_record(record) : std::string(bytes);  // the ledger may be rebuilt from it
  item.record = std::move(record);
  store_->add(std::move(item));
  ++history.pending;
}

bool RecordReader::fold(const std::string& node, NodeHistory& history, Record& record) {
  const std::size_t folded = sink_.fold(node, record);
  if (folded > 0 && !std::exchange(history.folded_reported, true))
    log_.warn("record.workloads_folded",
              "a node reports too many workloads; the controller combines the excess into one",
              {{"node", node}, {"folded", static_cast<std::uint64_t>(folded)}});
  return folded > 0;
}

void RecordReader::begin(const transport::Incoming& from, std::vector<Record> records, bool live) {
  reading_.emplace(Reading{from, std::move(records), live, 0, {}, false});
}

std::optional<RecordReader::Complaint> RecordReader::read_on(Session& session, NodeHistory& history) {
  const std::size_t all = reading_->records.size();
  std::optional<Complaint> complaint;
  for (bool progress = false; !complaint; progress = true) {
    if (progress && sink_.pause()) return std::nullopt;
    if (sink_.step()) continue;
    std::size_t& next = reading_->next;
    if (next > 0 && !reading_->live) keep_item(history, reading_->records[next - 1], bytes_[next - 1]);
    if (next == all) break;
    if (reading_->live) {
      show_next(session, history);
      continue;
    }
    if (next > 0 && sink_.enough()) {
      leave_rest(session);
      break;
    }
    complaint = take_next(session, history);
  }
  reading_.reset();
  return complaint;
}

std::optional<RecordReader::Complaint> RecordReader::take_next(Session& session, NodeHistory& history) {
  Record& record = reading_->records[reading_->next++];
  const RecordMark mark{record.incarnation, record.seq};
  if (record.incarnation > session.incarnation || record.seq == 0 || record.seq > kMaxNumber) {
    ++figures_.refused;
    return std::nullopt;
  }
  if (history.pending >= kMaxPending)
    return Complaint{"sends more records than its credit allows", "upgrade the agent"};
  if (take(reading_->from.identity.name, history, record, session.incarnation) == Taken::full) return kTooFast;
  session.received = std::max(session.received, mark);
  return std::nullopt;
}

// Leaves the records that have not been read for take_rest().
void RecordReader::leave_rest(Session& session) {
  std::vector<EncodedRecord> left;
  for (std::size_t i = reading_->next; i < bytes_.size(); ++i) left.push_back({{}, std::string(bytes_[i])});
  session.in_second -= std::min<std::uint64_t>(session.in_second, left.size());  // they are counted when they are read
  rest_ = wire::encode_samples(left);
}

void RecordReader::show_next(const Session& session, const NodeHistory& history) {
  const std::string& node = reading_->from.identity.name;
  Record& record = reading_->records[reading_->next++];
  const auto mine = history.marks.find(record.incarnation);
  const std::uint64_t taken = mine == history.marks.end() ? 0 : mine->second.taken;
  if (record.incarnation != session.incarnation || record.seq <= taken || record.seq > kMaxNumber) return;
  if (!validate(record)) return;  // counted and logged when it arrives in turn
  sink_.name(node, record);
  sink_.fold(node, record);  // counted and logged when it arrives in turn
  sink_.on_live(node, record);
}

}  // namespace wattle::controller
