#include "controller/store/row_writer.hpp"

#include <limits>
#include <utility>

namespace wattle::controller {
namespace {

constexpr std::size_t kQueuedRowOverhead = 128;  // approximate memory of a pending row
constexpr std::size_t kPodsAtOnce = 4096;        // in one transaction, so that none becomes long
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

std::size_t cost(const DecisionRow& row) { return row.body.size() + row.rest.size() + kQueuedRowOverhead; }
std::size_t cost(const PodFacts& row) { return row.bytes() + kQueuedRowOverhead; }
std::size_t cost(const RequestRow& row) { return row.body.size() + kQueuedRowOverhead; }
std::uint64_t key_of(const DecisionRow& row) { return row.id; }
std::string key_of(const PodFacts& row) { return row.uid; }
std::string key_of(const RequestRow& row) { return row.workload; }
void update(PodFacts& there, PodFacts later) { there.merge(std::move(later)); }
template <class Row>
void update(Row& there, Row later) {
  there = std::move(later);
}

}  // namespace

template <class Key, class Row>
void RowWriter::Queue<Key, Row>::add(Row row) {
  const auto [there, fresh] = rows.try_emplace(key_of(row));
  if (fresh) {
    there->second = std::move(row);
  } else {
    bytes -= cost(there->second);
    update(there->second, std::move(row));
  }
  bytes += cost(there->second);
}

template <class Key, class Row>
std::vector<Row> RowWriter::Queue<Key, Row>::take(std::size_t most) {
  std::vector<Row> some;
  while (!rows.empty() && some.size() < most) {
    bytes -= cost(rows.begin()->second);
    some.push_back(std::move(rows.begin()->second));
    rows.erase(rows.begin());
  }
  return some;
}

template <class Key, class Row>
void RowWriter::Queue<Key, Row>::put_back(std::vector<Row> older) {
  std::vector<Row> newer = take(kAll);
  for (std::vector<Row>* each : {&older, &newer})
    for (Row& row : *each) add(std::move(row));
}

void RowWriter::keep(DecisionRow row) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t lost = decisions_lost_;
    decisions_.add(std::move(row));
    drop_oldest_decisions();
    if (decisions_lost_ != lost) news = !std::exchange(decisions_.loss_logged, true);
  }
  if (news) log_.warn("store.decisions_dropped", "dropping the oldest unsaved decisions: the disk queue is full");
}

// Called with the lock.
void RowWriter::drop_oldest_decisions() {
  while (decisions_.bytes > most_decisions_bytes_ && !decisions_.rows.empty()) {
    decisions_.take(1);
    ++decisions_lost_;
  }
}

void RowWriter::note(PodFacts pod) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    if (pod.confirmed || pods_.rows.contains(pod.uid) || pods_.bytes + cost(pod) <= most_pods_bytes_)
      pods_.add(std::move(pod));
    else
      news = !std::exchange(pods_.loss_logged, true);
  }
  if (news) log_.warn("store.owners_dropped", "dropping ownership records: the disk queue is full");
}

void RowWriter::keep(std::vector<RequestRow> rows) {
  const std::lock_guard lock(mutex_);
  for (RequestRow& row : rows) {
    requests_.add(std::move(row));
    if (requests_.rows.size() > RequestTable::kMostRows) requests_.take(1);
  }
}

bool RowWriter::waits() const {
  const std::lock_guard lock(mutex_);
  return !decisions_.rows.empty() || !pods_.rows.empty() || !requests_.rows.empty();
}

bool RowWriter::fails() const {
  const std::lock_guard lock(mutex_);
  return !decisions_.problem.empty() || !pods_.problem.empty() || !requests_.problem.empty();
}

RowFigures RowWriter::figures() const {
  const std::lock_guard lock(mutex_);
  return {decisions_.problem, decisions_lost_};
}

void RowWriter::clear() {
  const std::lock_guard lock(mutex_);
  decisions_.take(kAll);
  pods_.take(kAll);
  requests_.take(kAll);
}

template <class Rows, class Put>
RowWriter::News RowWriter::attempt(Rows& queue, std::size_t most, Status& last, const Put& put) {
  std::unique_lock lock(mutex_);
  auto rows = queue.take(most);
  if (rows.empty()) return News::none;
  lock.unlock();
  Status done = put(rows);
  lock.lock();
  const bool was_well = std::exchange(queue.problem, done ? std::string() : done.error().message()).empty();
  if (done) {
    queue.loss_logged = false;
    return was_well ? News::none : News::recovered;
  }
  queue.put_back(std::move(rows));
  last = std::move(done);
  return was_well ? News::failed : News::none;
}

Status RowWriter::write(StoreFile* file, const Status& opened, std::int64_t now_s, bool all) {
  Status last;
  const News decisions = attempt(decisions_, kAll, last, [&](const std::vector<DecisionRow>& rows) {
    return file != nullptr ? file->decisions().put(rows, now_s) : opened;
  });
  if (decisions == News::recovered)
    log_.info("store.decisions_recovered", "decisions are written again", {{"lost", figures().decisions_lost}});
  if (decisions == News::failed)
    log_.warn("store.decisions_failed", "decisions cannot be written; the oldest are dropped when the queue is full",
              {{"error", last.error()}});
  const News pods = attempt(pods_, all ? kAll : kPodsAtOnce, last, [&](const std::vector<PodFacts>& rows) {
    return file != nullptr ? file->usage().put(rows, now_s) : opened;
  });
  if (pods == News::recovered) log_.info("store.owners_recovered", "ownership records are written again");
  if (pods == News::failed)
    log_.warn("store.owners_failed", "ownership records cannot be written", {{"error", last.error()}});
  const News requests = attempt(requests_, kAll, last, [&](const std::vector<RequestRow>& rows) {
    return file != nullptr ? file->requests().put(rows, now_s) : opened;
  });
  if (requests == News::recovered) log_.info("store.needs_recovered", "needs of workloads are written again");
  if (requests == News::failed)
    log_.warn("store.needs_failed", "needs of workloads cannot be written", {{"error", last.error()}});
  return last;
}

}  // namespace wattle::controller
