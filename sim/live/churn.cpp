#include "sim/live/churn.hpp"

#include <utility>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "common/kube/pod.hpp"
#include "common/stats/quantile.hpp"

namespace wattle::sim::live {
namespace {

using json = SortedJson;

constexpr const char* kLabel = "wattle.dev/churn";
constexpr const char* kLabelInQuery = "wattle.dev%2Fchurn";

// Builds an error from an API server's refusal.
Error refused(const std::string& what, const kube::Reply& reply) {
  const json said = json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  const std::string why = said.is_object() ? said.value("message", "") : "";
  const bool rights = reply.status == 401 || reply.status == 403;
  return {rights ? Errc::denied : Errc::unavailable, what,
          "HTTP " + std::to_string(reply.status) + (why.empty() ? "" : ": " + why),
          rights ? "use a token that may create, list, delete and deletecollection pods of the namespace"
                 : "check the API server"};
}

json pod_object(const ChurnOptions& options, const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"labels", {{kLabel, options.run}}}}},
          {"spec",
           {{"schedulerName", options.scheduler},
            {"terminationGracePeriodSeconds", 1},
            {"containers",
             {{{"name", "churn"},
               {"image", options.image},
               {"resources", {{"requests", {{"cpu", options.cpu}, {"memory", options.memory}}}}}}}}}}};
}

}  // namespace

Churn::Churn(ChurnOptions options, kube::HttpApi& api, const Clock& clock, std::function<bool(Duration)> pause)
    : options_(std::move(options)), api_(api), clock_(clock), pause_(std::move(pause)) {}

std::string Churn::pods_path() const { return "/api/v1/namespaces/" + options_.pod_namespace + "/pods"; }

Status Churn::run() { return options_.driver == ChurnDriver::batch ? batch() : window(); }

Status Churn::batch() {
  for (std::size_t turn = 0; turn < options_.turns && !stopped_; ++turn) {
    for (std::size_t i = 0; i < options_.pods; ++i) WATTLE_CHECK(create());
    WATTLE_CHECK(all_bound());
    WATTLE_CHECK(clear());
    ++figures_.turns;
  }
  return {};
}

Status Churn::window() {
  for (std::size_t i = 0; i < options_.pods; ++i) WATTLE_CHECK(create());
  WATTLE_CHECK(all_bound());
  for (std::size_t turn = 0; turn < options_.turns && !stopped_; ++turn) {
    const std::string oldest = names_.front();
    names_.pop_front();
    WATTLE_CHECK(remove(oldest));
    WATTLE_CHECK(create());
    WATTLE_CHECK(all_bound());
    ++figures_.turns;
  }
  return {};
}

Status Churn::create() {
  const std::string name = "churn-" + options_.run + "-" + std::to_string(next_++);
  WATTLE_TRY(const kube::Reply reply, api_.post(pods_path(), pod_object(options_, name).dump()));
  if (reply.status != 201) return tl::unexpected(refused("pod " + name, reply));
  ++figures_.created;
  names_.push_back(name);
  waiting_[name] = {clock_.mono()};
  return {};
}

Status Churn::remove(const std::string& name) {
  waiting_.erase(name);
  WATTLE_TRY(const kube::Reply reply, api_.remove(pods_path() + "/" + name));
  if (reply.status != 200 && reply.status != 202 && reply.status != 404)
    return tl::unexpected(refused("pod " + name, reply));
  return {};
}

Result<bool> Churn::look_until(const std::function<bool(std::size_t, std::size_t)>& done) {
  const MonoTime until = clock_.mono() + from_seconds(options_.patience_s);
  const std::string target = pods_path() + "?labelSelector=" + kLabelInQuery + "%3D" + options_.run;
  while (true) {
    WATTLE_TRY(const kube::Reply reply, api_.get(target));
    if (reply.status != 200) return tl::unexpected(refused("pods of " + options_.pod_namespace, reply));
    const json list = json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
    if (!list.is_object() || !list.contains("items") || !list["items"].is_array())
      return fail(Errc::malformed, target, "is not a list of pods", "use the address of an API server");
    const MonoTime now = clock_.mono();
    for (const json& object : list["items"]) {
      const kube::Pod pod = kube::read_pod(object);
      const auto waiting = waiting_.find(pod.name);
      if (waiting == waiting_.end() || waiting->second.bound || pod.node_name.empty()) continue;
      waiting->second.bound = true;
      ++figures_.bound;
      ++figures_.pods_of_node[pod.node_name];
      figures_.bound_after_s.push_back(seconds(now - waiting->second.since));
    }
    std::size_t unbound = 0;
    for (const auto& [name, waiting] : waiting_) unbound += waiting.bound ? 0 : 1;
    if (done(list["items"].size(), unbound)) return true;
    if (now >= until) return false;
    if (!pause_(kLook)) {
      stopped_ = true;
      return false;
    }
  }
}

Status Churn::all_bound() {
  WATTLE_TRY(const bool bound, look_until([](std::size_t, std::size_t unbound) { return unbound == 0; }));
  if (bound || stopped_) return {};
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    figures_.unbound += waiting->second.bound ? 0 : 1;
    waiting = waiting->second.bound ? std::next(waiting) : waiting_.erase(waiting);  // counted once
  }
  return {};
}

Result<std::size_t> Churn::clear() {
  names_.clear();
  waiting_.clear();
  return clear(std::string(kLabelInQuery) + "%3D" + options_.run);
}

Result<std::size_t> Churn::sweep() { return clear(kLabelInQuery); }

Result<std::size_t> Churn::clear(const std::string& selector) {
  const std::string target = pods_path() + "?labelSelector=" + selector;
  const MonoTime until = clock_.mono() + from_seconds(options_.patience_s);
  for (bool reported = false;; reported = true) {
    if (!reported) {
      WATTLE_TRY(const kube::Reply reply, api_.remove(target));
      if (reply.status != 200 && reply.status != 202)
        return tl::unexpected(refused("pods of " + options_.pod_namespace, reply));
    }
    WATTLE_TRY(const kube::Reply reply, api_.get(target));
    const json list = json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
    if (reply.status != 200 || !list.is_object() || !list.contains("items"))
      return tl::unexpected(refused("pods of " + options_.pod_namespace, reply));
    const std::size_t left = list["items"].size();
    if (left == 0 || clock_.mono() >= until) return left;
    // After a stop request it still waits for the deletions, so that none of its pods remain.
    if (!pause_(kLook)) stopped_ = true;
  }
}

std::string churn_json(const ChurnOptions& options, const ChurnFigures& figures) {
  const auto share = [&](double of) -> json {
    const auto value = stats::quantile(figures.bound_after_s, of);
    return value ? json(*value) : json(nullptr);
  };
  return json{{"driver", options.driver == ChurnDriver::batch ? "test1" : "test2"},
              {"turns", figures.turns},
              {"created", figures.created},
              {"bound", figures.bound},
              {"unbound", figures.unbound},
              {"bound_after_s", {{"p50", share(0.5)}, {"p99", share(0.99)}, {"most", share(1)}}},
              {"nodes", figures.pods_of_node}}
      .dump();
}

std::string churn_text(const ChurnOptions& options, const ChurnFigures& figures) {
  const auto of = [&](double share) { return stats::quantile(figures.bound_after_s, share).value_or(0); };
  std::string text = formatted("%s: %zu turns, %zu pods created, %zu bound, %zu without a node\n",
                               options.driver == ChurnDriver::batch ? "test1" : "test2", figures.turns, figures.created,
                               figures.bound, figures.unbound);
  if (!figures.bound_after_s.empty())
    text +=
        formatted("bound after: median %.1f s, 99%% of pods within %.1f s, maximum %.1f s\n", of(0.5), of(0.99), of(1));
  for (const auto& [node, pods] : figures.pods_of_node) text += "  " + node + "  " + std::to_string(pods) + "\n";
  return text;
}

}  // namespace wattle::sim::live
