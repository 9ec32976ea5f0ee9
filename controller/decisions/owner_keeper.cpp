#include "controller/decisions/owner_keeper.hpp"

#include <utility>

namespace wattle::controller {

std::string_view owner_of_app(std::string_view app) { return app.substr(0, app.find(' ')); }

void OwnerKeeper::placed(const placement::PodSpec& pod, const std::string& node) {
  if (store_ == nullptr) return;
  PodFacts facts;
  facts.uid = pod.uid;
  facts.name_space = pod.pod_namespace;
  facts.owner = owner_of_app(pod.app);
  facts.node = node;
  facts.placed_s = to_ns(clock_.wall()) / 1'000'000'000;
  store_->note(std::move(facts));
}

void OwnerKeeper::described(const kube::Pod& pod) {
  if (store_ == nullptr) return;
  PodFacts facts;
  facts.uid = pod.uid;
  facts.name_space = pod.pod_namespace;
  facts.owner = pod.owner;
  facts.labels = pod.labels;
  facts.described = true;
  store_->note(std::move(facts));
}

}  // namespace wattle::controller
