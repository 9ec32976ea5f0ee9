// Store: decisions, pods and needs, which no caller waits for: their queues, and losses when the disk takes none.
#include <utility>

#include "controller/store/store.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kRowOverhead = 128;  // approximate memory of a pending row
constexpr std::size_t kPodsAtOnce = 4096;  // in one transaction, so that none becomes long

std::size_t cost(const DecisionRow& row) { return row.body.size() + row.rest.size() + kRowOverhead; }
std::size_t cost(const PodFacts& row) { return row.bytes() + kRowOverhead; }

}  // namespace

void Store::keep(DecisionRow row) {
  if (options_.file.decisions.max_bytes == 0) return;
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    rows_bytes_ += cost(row);
    auto& there = rows_[row.id];
    if (there.id != 0) rows_bytes_ -= cost(there);
    there = std::move(row);
    if (lose_beyond_bound()) news = !std::exchange(loss_told_, true);
  }
  if (news) log_.warn("store.decisions_dropped", "dropping the oldest unsaved decisions: the disk queue is full");
  wake_.notify_one();
}

// Called with the lock.
bool Store::lose_beyond_bound() {
  const std::uint64_t before = figures_.decisions_lost;
  while (rows_bytes_ > options_.decisions_queue_bytes && !rows_.empty()) {
    rows_bytes_ -= cost(rows_.begin()->second);
    rows_.erase(rows_.begin());
    ++figures_.decisions_lost;
  }
  return figures_.decisions_lost != before;
}

void Store::note(PodFacts pod) {
  if (!on() || pod.uid.empty()) return;
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(pod.uid);
    if (found != pods_.end()) {
      pods_bytes_ -= cost(found->second);
      found->second.merge(std::move(pod));
      pods_bytes_ += cost(found->second);
    } else if (pod.confirmed || pods_bytes_ + cost(pod) <= options_.pods_queue_bytes) {
      pods_bytes_ += cost(pod);
      pods_.emplace(std::string(pod.uid), std::move(pod));
    } else {
      news = !std::exchange(pod_loss_told_, true);
    }
  }
  if (news) log_.warn("store.owners_dropped", "dropping ownership records: the disk queue is full");
  wake_.notify_one();
}

// Called with the lock.
Store::Pods Store::take_pods(bool all) {
  if (all || pods_.size() <= kPodsAtOnce) {
    pods_bytes_ = 0;
    return std::exchange(pods_, {});
  }
  Pods some;
  while (some.size() < kPodsAtOnce) {
    pods_bytes_ -= cost(pods_.begin()->second);
    some.insert(pods_.extract(pods_.begin()));
  }
  return some;
}

// Rows that the disk does not take wait for the next attempt unless a newer version exists.
void Store::keep_rows(Rows rows) {
  rows_at_ = clock_.mono();
  std::vector<DecisionRow> list;
  list.reserve(rows.size());
  for (auto& [id, row] : rows) list.push_back(std::move(row));
  Status done = file_ ? Status() : open_file();
  if (done) done = file_->decisions().put(list, now_s());
  bool news = false;
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(figures_.decisions_problem, done ? std::string() : done.error().message()).empty() != !!done;
    if (done) {
      figures_.decisions = file_->decisions().rows();
      figures_.decisions_bytes = file_->decisions().bytes();
      figures_.file_bytes = file_->file_bytes();
      loss_told_ = false;
    } else {
      for (DecisionRow& row : list) {
        const std::size_t bytes = cost(row);
        if (rows_.try_emplace(row.id, std::move(row)).second) rows_bytes_ += bytes;
      }
      lose_beyond_bound();
    }
    lost = figures_.decisions_lost;
  }
  if (done && news) log_.info("store.decisions_recovered", "decisions are written again", {{"lost", lost}});
  if (done) return;
  if (news)
    log_.warn("store.decisions_failed", "decisions cannot be written; the oldest are dropped when the queue is full",
              {{"error", done.error()}});
  if (done.error().code != Errc::exhausted) file_.reset();  // as in trouble()
}

void Store::keep_pods(Pods pods) {
  rows_at_ = clock_.mono();
  std::vector<PodFacts> list;
  list.reserve(pods.size());
  for (auto& [uid, pod] : pods) list.push_back(std::move(pod));
  Status done = file_ ? Status() : open_file();
  if (done) done = file_->usage().put(list, now_s());
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(pods_fail_, !done) != pods_fail_;
    if (done) {
      pod_loss_told_ = false;
    } else {
      for (PodFacts& pod : list) {
        const std::string uid = pod.uid;
        const auto [there, fresh] = pods_.try_emplace(uid, std::move(pod));
        if (!fresh) {
          pods_bytes_ -= cost(there->second);
          pod.merge(std::move(there->second));
          there->second = std::move(pod);
        }
        pods_bytes_ += cost(there->second);
      }
    }
  }
  if (news && done) log_.info("store.owners_recovered", "ownership records are written again");
  if (done) return;
  if (news) log_.warn("store.owners_failed", "ownership records cannot be written", {{"error", done.error()}});
  if (done.error().code != Errc::exhausted) file_.reset();  // as in trouble()
}

void Store::keep(std::vector<RequestRow> rows) {
  if (!on() || rows.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (RequestRow& row : rows) {
      std::string workload = row.workload;
      requests_[std::move(workload)] = std::move(row);
      if (requests_.size() > RequestTable::kMostRows) requests_.erase(requests_.begin());
    }
  }
  wake_.notify_one();
}

void Store::keep_requests(Requests requests) {
  rows_at_ = clock_.mono();
  std::vector<RequestRow> list;
  list.reserve(requests.size());
  for (auto& [workload, row] : requests) list.push_back(std::move(row));
  Status done = file_ ? Status() : open_file();
  if (done) done = file_->requests().put(list, now_s());
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(requests_fail_, !done) != requests_fail_;
    if (!done)
      for (RequestRow& row : list) {
        std::string workload = row.workload;
        requests_.try_emplace(std::move(workload), std::move(row));
      }
  }
  if (news && done) log_.info("store.needs_recovered", "needs of workloads are written again");
  if (done) return;
  if (news) log_.warn("store.needs_failed", "needs of workloads cannot be written", {{"error", done.error()}});
  if (done.error().code != Errc::exhausted) file_.reset();  // as in trouble()
}

}  // namespace wattle::controller
