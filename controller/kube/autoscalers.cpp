#include "controller/kube/autoscalers.hpp"

#include <vector>

#include "common/http/target.hpp"
#include "common/json/value.hpp"
#include "common/kube/json.hpp"
#include "placement/demand.hpp"

namespace wattle::controller {
namespace {

using Listed = SortedJson;
using std::chrono::milliseconds;

constexpr milliseconds kListPatience{10'000};
constexpr std::size_t kMostPages = 1000;
constexpr Duration kListEvery = std::chrono::minutes(1);
constexpr Duration kListHolds = std::chrono::minutes(5);
constexpr Duration kTellEvery = std::chrono::minutes(10);
constexpr std::string_view kPaths[] = {"/apis/autoscaling/v2/horizontalpodautoscalers",
                                       "/apis/keda.sh/v1alpha1/scaledobjects"};
constexpr std::string_view kKinds[] = {"HorizontalPodAutoscaler", "ScaledObject"};

Listed part_of(const Listed& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Listed();
}

std::string word_in(const Listed& object, const char* key) {
  const Listed value = part_of(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Kinds that pods name as their owner, by the name that the autoscaler has.
bool names_workload(const std::string& kind) {
  return kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet" || kind == "ReplicationController";
}

// As RequestBook names it, which strips a ReplicaSet of its hash.
std::string counted_under(const std::string& owner) {
  return placement::app_key_of(kube::shortened(owner, kube::kMaxNameBytes)).owner;
}

}  // namespace

std::string ReplicaOwners::of(const std::string& workload) const {
  if (const auto found = workloads.find(workload); found != workloads.end()) return found->second;
  const auto space = namespaces.find(workload.substr(0, workload.find('/')));
  return space == namespaces.end() ? std::string() : space->second;
}

Result<std::string> read_autoscalers(std::string_view body, AutoscalerKind kind, ReplicaOwners& out) {
  const std::string what(kKinds[static_cast<std::size_t>(kind)]);
  const Listed list = Listed::read(body, {.text_bytes = 64 << 20, .built_bytes = 384 << 20});
  const Listed items = part_of(list, "items");
  if (!items.is_array()) return fail(Errc::malformed, what + "s", "the API server answers no list");
  for (const Listed& item : items) {
    const Listed about = part_of(item, "metadata"), target = part_of(part_of(item, "spec"), "scaleTargetRef");
    const std::string space = word_in(about, "namespace"), name = word_in(target, "name");
    if (space.empty() || name.empty())
      return fail(Errc::malformed, what + "s", "one has no namespace, or names no target");
    if (++out.autoscalers > kMostAutoscalers)
      return fail(Errc::out_of_range, what + "s", "are more than " + std::to_string(kMostAutoscalers));
    const std::string whole = what + " " + space + "/" + word_in(about, "name");
    std::string target_kind = word_in(target, "kind");
    if (target_kind.empty()) target_kind = "Deployment";  // as KEDA has it
    if (names_workload(target_kind))
      out.workloads[space + "/" + counted_under(target_kind + "/" + name)] = whole;
    else
      out.namespaces[space] = whole + ", which scales " + target_kind + " " + name + " and by that unknown pods,";
  }
  return word_in(part_of(list, "metadata"), "continue");
}

Result<ReplicaOwners> list_autoscalers(kube::Api& api) {
  ReplicaOwners out;
  for (const AutoscalerKind kind : {AutoscalerKind::horizontal, AutoscalerKind::keda}) {
    const std::string path(kPaths[static_cast<std::size_t>(kind)]);
    std::string next;
    std::size_t pages = 0;
    do {
      if (++pages > kMostPages) return fail(Errc::out_of_range, path, "has no end");
      const std::string more = next.empty() ? "" : "&continue=" + http::percent_encode(next);
      WATTLE_TRY(const kube::Reply reply, api.get(path + "?limit=500" + more));
      if (reply.status == 404 && kind == AutoscalerKind::keda) break;
      if (reply.status == 401 || reply.status == 403)
        return fail(Errc::denied, path, "the controller may not list them",
                    "it is an opt-in: replicas.suggest of the chart, or a ClusterRole of your own");
      if (reply.status != 200) return fail(Errc::unavailable, path, "answers HTTP " + std::to_string(reply.status));
      WATTLE_TRY(next, read_autoscalers(reply.body, kind, out));
    } while (!next.empty());
  }
  return out;
}

bool KnownOwners::take(Result<ReplicaOwners> listed, MonoTime now) {
  if (listed) {
    owners_ = std::move(*listed);
    listed_ = now;
    problem_.clear();
    return true;
  }
  // Of a server that is away what was seen before stands for a while.
  const bool away = listed.error().code == Errc::unavailable || listed.error().code == Errc::timeout;
  if (owners_ && away && now - listed_ <= kListHolds) return true;
  owners_.reset();
  problem_ = listed.error().message();
  if (told_ && now - *told_ < kTellEvery) return true;
  told_ = now;
  return false;
}

std::optional<std::string> KnownOwners::owner_of(const std::string& workload) const {
  if (!owners_) return std::nullopt;
  return owners_->of(workload);
}

Autoscalers::Autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log)
    : clock_(clock), log_(log), api_(server, kListPatience, kListPatience) {
  thread_ = std::thread([this] { run(); });
}

Autoscalers::~Autoscalers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  api_.stop();
  thread_.join();
}

void Autoscalers::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    look();
    lock.lock();
    wake_.wait_for(lock, kListEvery, [this] { return stop_; });
  }
}

void Autoscalers::look() {
  auto listed = list_autoscalers(api_);
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || known_.take(std::move(listed), clock_.mono())) return;
    problem = known_.problem();
  }
  log_.warn("it is not known which replicas autoscalers own, so none are suggested", {{"error", problem}});
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
