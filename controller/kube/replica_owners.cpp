#include "controller/kube/replica_owners.hpp"

#include <utility>

#include "common/stopped_within.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kListPatience{10'000};
constexpr Duration kListEvery = std::chrono::minutes(1);
constexpr Duration kListHolds = std::chrono::minutes(5);
constexpr Duration kTellEvery = std::chrono::minutes(10);
constexpr const char* kGrant = "grant it with replicas.suggest of the chart or with your own ClusterRole";

}  // namespace

bool KnownOwners::take(Result<kube::AutoscalerLists> listed, MonoTime now) {
  if (listed) {
    owners_ = std::move(*listed);
    listed_ = now;
    problem_.clear();
    return true;
  }
  // If the server cannot be reached, the last lists stay valid for a while.
  const bool away = listed.error().code == Errc::unavailable || listed.error().code == Errc::timeout;
  if (owners_ && away && now - listed_ <= kListHolds) return true;
  owners_.reset();
  problem_ = listed.error().message();
  if (reported_ && now - *reported_ < kTellEvery) return true;
  reported_ = now;
  return false;
}

std::optional<std::string> KnownOwners::owner_of(const std::string& workload) const {
  if (!owners_) return std::nullopt;
  return owners_->of(workload);
}

Autoscalers::Autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log)
    : clock_(clock),
      log_(log),
      api_(server, kListPatience, kListPatience),
      thread_([this](const std::stop_token& stop) {
        do look(stop);
        while (!stopped_within(stop, kListEvery));
      }) {}

Autoscalers::~Autoscalers() {
  thread_.request_stop();
  api_.stop();
}

void Autoscalers::look(const std::stop_token& stop) {
  auto listed = kube::list_autoscalers(api_, "", kGrant);
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (stop.stop_requested() || known_.take(std::move(listed), clock_.mono())) return;
    problem = known_.problem();
  }
  log_.warn("replicas.owners_unknown", "autoscalers cannot be listed, so no replicas are suggested",
            {{"error", problem}});
}

std::optional<std::string> Autoscalers::owner_of(const std::string& workload) const {
  const std::lock_guard lock(mutex_);
  return known_.owner_of(workload);
}

std::string Autoscalers::problem() const {
  const std::lock_guard lock(mutex_);
  return known_.problem();
}

}  // namespace wattle::controller
