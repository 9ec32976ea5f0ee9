#include "controller/decisions/owner_keeper.hpp"

#include "controller/state/sane_request.hpp"

#include <cmath>
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {

std::string_view owner_of_app(std::string_view app) { return app.substr(0, app.find(' ')); }

namespace {

// Adds the ask that a replay of the day needs. A DaemonSet's pods have no choice of a node.
void add_ask(const std::string& app, const placement::Resources& request, PodFacts& facts) {
  facts.app = app;
  facts.cpu_millicores = std::llround(request.cpu_cores * 1000);
  facts.memory_bytes = std::llround(request.memory_bytes);
}

PodFacts facts_of(const placement::PodSpec& pod) {
  PodFacts facts;
  facts.uid = pod.uid;
  facts.name = pod.name;
  facts.name_space = pod.pod_namespace;
  facts.owner = owner_of_app(pod.app);
  facts.replica_of = pod.owner;
  if (!pod.daemonset) add_ask(pod.app, pod.request, facts);
  return facts;
}

}  // namespace

PodFacts facts_of_placed(const placement::PodSpec& pod, const std::string& node, std::int64_t placed_s) {
  PodFacts facts = facts_of(pod);
  facts.node = node;
  facts.placed_s = placed_s;
  return facts;
}

void OwnerKeeper::placed(const placement::PodSpec& pod, const std::string& node) {
  store_.note(facts_of_placed(pod, node, to_ns(clock_.wall()) / 1'000'000'000));
}

void OwnerKeeper::left(const placement::PodSpec& pod) {
  PodFacts facts = facts_of(pod);
  facts.ended_s = to_ns(clock_.wall()) / 1'000'000'000;
  store_.note(std::move(facts));
}

void OwnerKeeper::described(const kube::Pod& pod) {
  PodFacts facts;
  facts.uid = pod.uid;
  facts.name = pod.name;
  facts.name_space = pod.pod_namespace;
  facts.owner = pod.owner;
  facts.labels = pod.labels;
  facts.container_ids = pod.container_ids;
  facts.replica_of = pod.replica_of;
  facts.described = true;
  if (!pod.daemonset) add_ask(pod.app, sane_request(pod.cpu_request_cores, pod.memory_request_bytes), facts);
  store_.note(std::move(facts));
}

}  // namespace wattle::controller
