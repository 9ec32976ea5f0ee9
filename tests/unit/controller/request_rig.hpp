// request_rig: a node whose pods an API server describes, minute by minute, and the book of their suggested requests.
#pragma once

#include <string>
#include <vector>

#include "controller/provision/request_book.hpp"
#include "tests/unit/controller/live_rig.hpp"

namespace wattle::controller::test {

inline constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct RequestRig : LiveRig {
  std::vector<RequestRow> kept;  // the newest rows of each workload are last
  std::optional<RequestBook> book;
  std::vector<kube::Pod> pods;

  explicit RequestRig(std::vector<RequestRow> found = {}) {
    clock.advance(std::chrono::hours(24 * 365));
    start(std::move(found));
  }
  void start(std::vector<RequestRow> found) {
    book.emplace(clock, found, [this](std::vector<RequestRow> rows) {
      for (RequestRow& row : rows) kept.push_back(std::move(row));
    });
  }
  static kube::Pod pod_of(const std::string& uid, const std::string& owner = "Deployment/web") {
    kube::Pod pod;
    pod.uid = uid;
    pod.name = uid + "-name";
    pod.pod_namespace = "shop";
    pod.owner = owner;
    pod.containers = "web";
    pod.node_name = "n1";
    pod.qos = "Burstable";
    pod.cpu_request_cores = 2;
    pod.memory_request_bytes = 1024.0 * kMebibyte;
    return pod;
  }
  void report(const kube::Pod& pod) {
    placement::PodSpec spec;
    spec.uid = pod.uid;
    decider->placements().described(spec);
    book->described(pod);
    decider->placements().bound(pod.uid, "n1", false);
    std::erase_if(pods, [&](const kube::Pod& each) { return each.uid == pod.uid; });
    pods.push_back(pod);
  }
  void report_gone(const std::string& uid) {
    decider->placements().deleted(uid);
    std::erase_if(pods, [&](const kube::Pod& each) { return each.uid == uid; });
  }
  // One minute in which each pod has this usage; `change` may modify its report.
  void minute(double cores, std::uint64_t bytes = 256 * kMebibyte, void (*change)(WorkloadValues&) = nullptr) {
    clock.advance(std::chrono::minutes(1));
    Record record = record_at(++seq);
    record.mono_ns = to_ns(clock.mono());
    record.interval_ns = 60 * kSecondNs;
    for (const kube::Pod& pod : pods) {
      WorkloadValues values = pod_values(pod.uid, static_cast<std::uint64_t>(cores * 60e6));
      values.memory_bytes = bytes;
      if (change != nullptr) change(values);
      record.workloads.push_back(values);
    }
    state.apply("n1", record, clock.mono());
    book->record(*state.node("n1"));
    finish(book->tick(state));
  }
  void hours(double hours, double cores) {
    for (int i = 0; i < static_cast<int>(hours * 60); ++i) minute(cores);
  }
  const RequestWorkload& web() const { return book->workloads().at("shop/Deployment/web"); }
  Result<wattle::SortedJson> provision(const Arguments& arguments = {}) {
    auto body =
        finished(document(parts(*book, provisioning.replicas(), provisioning.margins()), "provision", arguments));
    if (!body) return forward_error(body);
    return wattle::SortedJson::parse(*body);
  }
};

}  // namespace wattle::controller::test
