#include "cli/requests/setter.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cli/view.hpp"
#include "common/http/target.hpp"
#include "common/kube/autoscalers.hpp"
#include "common/kube/pod.hpp"

namespace wattle::cli {
namespace {

constexpr int kRestoreRounds = 5;
constexpr const char* kEverything = "*";
// the API server's answer for an unknown path
constexpr const char* kNoSuchPath = "could not find the requested resource";

std::string core_path(const std::string& name_space, const std::string& rest) {
  return "/api/v1/namespaces/" + name_space + "/" + rest;
}

bool is_meant(const std::string& workload, const std::string& wanted) {
  return wanted.empty() || workload == wanted || workload.ends_with("/" + wanted);
}

Json empty_map(const std::string& name_space) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", kRecordName}, {"namespace", name_space}, {"labels", {{"app.kubernetes.io/part-of", "wattle"}}}}}};
}

// The ConfigMap and its parsed record.
struct Kept {
  Json map;
  RequestRecord record;
};

// No value if there is none and `make` is false.
Result<std::optional<Kept>> open_record(Cluster& cluster, const std::string& name_space, bool make) {
  const std::string target = core_path(name_space, std::string("configmaps/") + kRecordName);
  WATTLE_TRY(auto found, cluster.find(target));
  if (!found && !make) return std::optional<Kept>();
  if (!found) {
    WATTLE_TRY(Json made, cluster.post(core_path(name_space, "configmaps"), empty_map(name_space)));
    found = std::move(made);
  }
  WATTLE_TRY(RequestRecord record, read_record(*found));
  return std::optional<Kept>(Kept{std::move(*found), std::move(record)});
}

std::map<std::string, std::string> texts_of(const Json& data) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : View(data).members()) texts[key] = value.text_or("");
  return texts;
}

// Writes the ConfigMap if its data changed; applies only to the version that was read.
Status keep(Cluster& cluster, const std::string& name_space, Kept& kept) {
  Json data = record_data(kept.record);
  if (texts_of(data) == texts_of(kept.map.contains("data") ? kept.map["data"] : Json::object())) return {};
  kept.map["data"] = std::move(data);
  WATTLE_TRY(kept.map, cluster.put(core_path(name_space, std::string("configmaps/") + kRecordName), kept.map));
  return {};
}

Result<std::map<std::string, Json>> pods_by_uid(Cluster& cluster, const std::string& name_space) {
  std::map<std::string, Json> pods;
  for (std::string more, before;;) {
    const std::string path = core_path(name_space, "pods?limit=500" + more);
    WATTLE_TRY(const Json page, cluster.get(path));
    for (const Json& pod : page.value("items", Json::array())) pods[View(pod)["metadata"]["uid"].text_or("")] = pod;
    const auto next = View(page)["metadata"]["continue"].text();
    if (!next || next->empty()) return pods;
    if (*next == before) return fail(Errc::malformed, path, "the list has no end: a page leads to itself");
    before = *next;
    more = "&continue=" + http::percent_encode(*next);
  }
}

}  // namespace

Result<Json> vertical_autoscalers(Cluster& cluster, const std::string& name_space) {
  const std::string target =
      "/apis/autoscaling.k8s.io/v1/namespaces/" + name_space + "/verticalpodautoscalers?limit=5000";
  WATTLE_TRY(auto found, cluster.find(target));
  return found ? std::move(*found) : Json::object();
}

namespace {

Result<Json> resize(Cluster& cluster, const std::string& name_space, const Json& pod, const std::string& container,
                    const Sizes& set) {
  const std::string name = View(pod)["metadata"]["name"].text_or("");
  return cluster.patch(
      core_path(name_space, "pods/" + name + "/resize?fieldManager=" + std::string(kube::kRequestsManager)),
      resize_patch(pod, container, set));
}

Sizes sizes_now(const Json& pod, const std::string& container) {
  for (const View& one : View(pod)["spec"]["containers"].items())
    if (one["name"].text() == container) return Sizes::of(one["resources"]);
  return {};
}

// Orders states by their importance in a workload's summary.
int weight_of(const std::string& state) {
  constexpr std::array<std::string_view, 9> kByWeight{"keep",     "waits",   "in_force",   "write",  "in_progress",
                                                      "deferred", "failing", "infeasible", "refused"};
  const auto found = std::find(kByWeight.begin(), kByWeight.end(), state);
  return static_cast<int>(found - kByWeight.begin());
}

// Runs one pass over a namespace.
class SetPass {
 public:
  SetPass(Cluster& cluster, std::string name_space, SetOptions options)
      : cluster_(cluster), name_space_(std::move(name_space)), options_(std::move(options)) {}

  Result<std::vector<PodDone>> run(const Json& document) {
    WATTLE_TRY(const std::vector<View> workloads, View(document).list("workloads"));
    WATTLE_TRY(auto kept, open_record(cluster_, name_space_, !options_.dry_run));
    if (kept) kept_ = std::move(*kept);
    WATTLE_TRY(vpas_, vertical_autoscalers(cluster_, name_space_));
    WATTLE_TRY(scalers_, kube::list_autoscalers(cluster_.api(), name_space_, kGrantAutoscalers));
    WATTLE_TRY(pods_, pods_by_uid(cluster_, name_space_));
    std::erase_if(kept_.record.pods, [&](const auto& pod) { return !pods_.contains(pod.first); });
    if (options_.by_hand && options_.workload.empty()) kept_.record.held.clear();
    if (options_.workload.empty()) kept_.record.said.clear();
    for (const View& workload : workloads) look_at(workload);
    if (options_.dry_run) return std::move(done_);
    WATTLE_CHECK(keep(cluster_, name_space_, kept_));
    Status written = write_all();
    const Status outcomes = keep(cluster_, name_space_, kept_);
    // Another pass wrote the ConfigMap: it reads our values, and the next pass records the outcomes.
    if (!outcomes && outcomes.error().code != Errc::conflict) return tl::unexpected<Error>(outcomes.error());
    if (!written) return tl::unexpected<Error>(written.error());
    return std::move(done_);
  }

 private:
  struct Write {
    std::string uid;
    std::size_t done = 0;
  };

  void look_at(const View& workload) {
    const std::string key = workload["workload"].text_or("");
    if (!is_meant(key, options_.workload)) return;
    RequestRecord& record = kept_.record;
    record.said.erase(key);
    if (options_.by_hand) record.held.erase(key);
    if (!options_.by_hand && (record.held.contains(key) || record.held.contains(kEverything))) {
      const std::string again = record.held.contains(kEverything) ? "--namespace " + name_space_ : key;
      record.said[key] = {
          "waits", "The original requests were restored by hand; resume with `wattle provision set " + again + "`."};
      done_.push_back({workload["owner"].text_or(""), key, "held", record.said[key].why, "", ""});
      return;
    }
    PlanOptions plan;
    const View order = options_.by_hand ? View() : workload["sizing"]["order"];
    const std::string kind = order["kind"].text_or("");
    if (kind == "restore") return restore(workload);
    const View& wanted = kind == "lower" ? order : workload["rule"];
    Advice advice{key, wanted["cpu_cores"].number(), wanted["memory_bytes"].number()};
    if (kind == "hold") advice.cpu_cores = advice.memory_bytes = std::nullopt;
    if (kind == "raise") plan.direction = Direction::up;
    if (kind == "lower") plan.direction = Direction::down;
    std::set<std::string> ordered;
    for (const View& uid : order["pods"].items()) ordered.insert(uid.text_or(""));
    plan.now_s = options_.now_s;
    plan.autoscaler = autoscaler_of(vpas_, workload["owner"].text_or(""));
    plan.scaler = scalers_.by_utilisation.of(key);
    const Advice unchanged{key, std::nullopt, std::nullopt};
    for (const View& uid : workload["pod_uids"].items()) {
      const std::string text = uid.text_or("");
      look_at_pod(text, kind == "lower" && !ordered.contains(text) ? unchanged : advice, plan);
    }
  }

  // Orders the original requests of all pods on record.
  void restore(const View& workload) {
    for (const View& each : workload["pod_uids"].items()) {
      const std::string uid = each.text_or("");
      const auto pod = pods_.find(uid);
      const auto before = kept_.record.pods.find(uid);
      if (pod == pods_.end() || before == kept_.record.pods.end()) continue;
      const Restoration plan = plan_restore(pod->second, before->second);
      if (!plan.set) {
        done_.push_back({before->second.name, before->second.workload, "restored", plan.why, "", ""});
        kept_.record.pods.erase(before);
        continue;
      }
      Verdict verdict;
      verdict.state = "restore";
      verdict.container = before->second.container;
      verdict.now = sizes_now(pod->second, verdict.container);
      verdict.set = *plan.set;
      note(uid, before->second.workload, verdict);
    }
  }

  void look_at_pod(const std::string& uid, const Advice& advice, const PlanOptions& plan) {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end()) return;
    RequestRecord& record = kept_.record;
    const auto before = record.pods.find(uid);
    Verdict verdict = plan_pod(pod->second, advice, before == record.pods.end() ? nullptr : &before->second, plan);
    if (verdict.state == "write" && before == record.pods.end() && record.pods.size() >= kMostRecordPods)
      verdict.state = "refused", verdict.why = "The record of the namespace is full.";
    note(uid, advice.workload, verdict);
    const auto said = record.said.find(advice.workload);
    if (weight_of(verdict.state) > (said == record.said.end() ? 0 : weight_of(said->second.state)))
      record.said[advice.workload] = {verdict.state, verdict.why};
  }

  void note(const std::string& uid, const std::string& workload, const Verdict& verdict) {
    const std::string name = View(pods_[uid])["metadata"]["name"].text_or("");
    const bool writes = verdict.state == "write" || verdict.state == "take_back" || verdict.state == "restore";
    done_.push_back({name, workload, verdict.state, verdict.why, verdict.now ? verdict.now->text() : "",
                     writes ? verdict.set.text() : ""});
    auto& pods = kept_.record.pods;
    auto found = pods.find(uid);
    if (found == pods.end()) {
      if (!writes) return;
      found = pods.emplace(uid, PodRecord{}).first;
      found->second.name = name;
      found->second.container = verdict.container;
      found->second.original = *verdict.now;
    }
    PodRecord& record = found->second;
    record.workload = workload;
    record.state = verdict.state;
    record.why = verdict.why;
    if (verdict.foreign) {
      record.original = record.was = record.set = *verdict.now;
      record.refused = {};
      record.foreign = true;
      record.at_s = options_.now_s;
    }
    if (!writes) return;
    if (verdict.state == "take_back") record.refused = verdict.now->changed_from(verdict.set);
    record.was = *verdict.now;
    record.set = verdict.set;
    record.foreign = false;
    record.at_s = options_.now_s;
    writes_.push_back({uid, done_.size() - 1});
  }

  Status write_all() {
    for (const Write& write : writes_) {
      PodRecord& record = kept_.record.pods.at(write.uid);
      PodDone& done = done_[write.done];
      const auto written = resize(cluster_, name_space_, pods_[write.uid], record.container, record.set);
      if (written && record.state == "restore") {
        done.state = "restored";
        kept_.record.pods.erase(write.uid);
        continue;
      }
      if (written) {
        const bool back = record.state == "take_back", there = is_in_force(*written, record.container);
        done.state = record.state = back ? "infeasible" : there ? "in_force" : "in_progress";
        if (!back && !there && record.why.empty()) done.why = record.why = "The kubelet has not finished yet.";
        const auto said = kept_.record.said.find(record.workload);
        if (said != kept_.record.said.end() && (said->second.state == "write" || said->second.state == "take_back"))
          said->second.state = record.state;
        continue;
      }
      const Error& error = written.error();
      if (error.code == Errc::unavailable || error.code == Errc::timeout) return tl::unexpected<Error>(error);
      const bool lacks = error.code == Errc::not_found && error.what.find(kNoSuchPath) != std::string::npos;
      const bool late = !lacks && (error.code == Errc::conflict || error.code == Errc::not_found);
      const bool never = error.code == Errc::exhausted;
      done.state = record.state = late ? "waits" : never ? "infeasible" : "refused";
      done.why = record.why = lacks   ? "The API server does not support pods/resize (needs Kubernetes 1.33 or later)."
                              : never ? "The node can never provide these requests (Infeasible): " + error.what
                              : late  ? "The pod changed meanwhile; the next pass retries."
                                      : "The API server rejected the change: " + error.what;
      if (error.code == Errc::malformed || never) record.refused = record.set.changed_from(record.was);
      if (!late) record.set = record.was;
      kept_.record.said[record.workload] = {record.state, record.why};
    }
    return {};
  }

  Cluster& cluster_;
  std::string name_space_;
  SetOptions options_;
  Kept kept_;
  Json vpas_;
  kube::AutoscalerLists scalers_;
  std::map<std::string, Json> pods_;
  std::vector<PodDone> done_;
  std::vector<Write> writes_;
};

// Returns true if done; false if another client wrote meanwhile.
Result<bool> restore_round(Cluster& cluster, const std::string& name_space, const std::string& workload,
                           std::map<std::string, PodDone>& done) {
  WATTLE_TRY(auto found, open_record(cluster, name_space, false));
  if (!found) return true;
  Kept& kept = *found;
  if (workload.empty()) kept.record.held.insert(kEverything);
  for (const auto& [uid, pod] : kept.record.pods)
    if (is_meant(pod.workload, workload)) kept.record.held.insert(pod.workload);
  if (const auto held = keep(cluster, name_space, kept); !held) {
    if (held.error().code == Errc::conflict) return false;
    return tl::unexpected<Error>(held.error());
  }
  WATTLE_TRY(const auto pods, pods_by_uid(cluster, name_space));
  bool again = false;
  for (auto at = kept.record.pods.begin(); at != kept.record.pods.end();) {
    const auto here = at++;
    const PodRecord record = here->second;
    if (!is_meant(record.workload, workload)) continue;
    const auto pod = pods.find(here->first);
    if (pod == pods.end()) {
      kept.record.pods.erase(here);
      continue;
    }
    const Restoration plan = plan_restore(pod->second, record);
    PodDone& one = done[here->first];
    one = {record.name, record.workload, "kept", plan.why, record.set.text(), ""};
    if (plan.set) {
      const auto written = resize(cluster, name_space, pod->second, record.container, *plan.set);
      again = again || (!written && written.error().code == Errc::conflict);
      one.after = plan.set->text();
      one.state = written ? "restored" : "refused";
      one.why = written ? "" : written.error().what;
      if (!written) continue;
    }
    kept.record.pods.erase(here);
  }
  const auto kept_now = keep(cluster, name_space, kept);
  if (!kept_now && kept_now.error().code != Errc::conflict) return tl::unexpected<Error>(kept_now.error());
  return kept_now && !again;
}

}  // namespace

Result<std::vector<PodDone>> set_requests(Cluster& cluster, const std::string& name_space, const Json& document,
                                          const SetOptions& options) {
  return SetPass(cluster, name_space, options).run(document);
}

Result<std::vector<PodDone>> restore_requests(Cluster& cluster, const std::string& name_space,
                                              const std::string& workload) {
  std::map<std::string, PodDone> done;
  for (int round = 0; round < kRestoreRounds; ++round) {
    WATTLE_TRY(const bool all, restore_round(cluster, name_space, workload, done));
    if (!all) continue;
    std::vector<PodDone> list;
    for (auto& [uid, one] : done) list.push_back(std::move(one));
    return list;
  }
  return fail(Errc::conflict, std::string("ConfigMap ") + name_space + "/" + kRecordName,
              "another client keeps changing it or the pods", "run the command again");
}

Json report_of(const std::string& name_space, const Json& document, const std::vector<PodDone>& done) {
  Json workloads = Json::object();
  for (const View& workload : View(document)["workloads"].items()) {
    const std::string key = workload["workload"].text_or("");
    if (!workload["sizing"].present()) continue;
    const bool restores = workload["sizing"]["order"]["kind"].text() == "restore";
    std::string state = restores ? "restored" : "", why;
    for (const PodDone& one : done) {
      if (one.workload != key) continue;
      const bool worse = restores ? one.state != "restored" : weight_of(one.state) >= weight_of(state);
      if (!worse && !state.empty()) continue;
      state = one.state;
      why = one.why;
    }
    if (state == "restored" || state == "held" || state == "refused" || state == "infeasible")
      workloads[key] = {{"state", state}, {"why", why}};
  }
  return {{"namespace", name_space}, {"workloads", std::move(workloads)}};
}

Result<std::vector<std::string>> recorded_words(Cluster& cluster, const std::string& name_space,
                                                const std::string& workload) {
  WATTLE_TRY(const auto found, cluster.find(core_path(name_space, std::string("configmaps/") + kRecordName)));
  std::vector<std::string> words;
  if (!found) return words;
  WATTLE_TRY(const RequestRecord record, read_record(*found));
  if (const auto said = record.said.find(workload); said != record.said.end() && !said->second.why.empty())
    words.push_back("Setting requests: " + said->second.state + ". " + said->second.why);
  for (const auto& [uid, pod] : record.pods) {
    if (pod.workload != workload) continue;
    words.push_back("Pod " + pod.name + " (" + pod.state + "): had " + pod.original.text() +
                    (pod.set.same_as(pod.original) ? "" : ", was set to " + pod.set.text()) + "." +
                    (pod.why.empty() ? "" : " " + pod.why));
  }
  return words;
}

}  // namespace wattle::cli
