// sizing_history: writes a controller's data with a day of low usage of a few workloads and right sizes in mode shadow,
// because the rule needs 12 hours of telemetry before it lowers requests. The controller's own classes observe that day
// on a manual clock that ends now.
// Usage    sizing_history DATA-FOLDER OWNER...     in namespace shop; an owner is "Deployment/web"
// Pods     request 200 millicores and 128 MiB, and use 10 millicores and 8 MiB
// Errors   exit 1: the data cannot be written, or the observed time opens no gate
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/dir.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/store/store_file.hpp"
#include "tests/unit/controller/request_rig.hpp"

namespace {

using namespace wattle;
using namespace wattle::controller;

constexpr int kMinutes = 18 * 60;
constexpr double kRequestCores = 0.2, kUsedCores = 0.01;
constexpr std::uint64_t kRequestMebibytes = 128, kUsedMebibytes = 8;

int failed(const Error& error) {
  std::fprintf(stderr, "sizing_history: %s\n", error.message().c_str());
  return 1;
}

void calm(WorkloadValues& values) { values.cpu_throttled_us = 0; }

Status write(const std::string& folder, const std::vector<std::string>& owners) {
  test::RequestRig rig;
  const WallTime now = SystemClock().wall();
  rig.clock.step_wall(now - rig.clock.wall() - std::chrono::minutes(kMinutes));
  rig.start({});
  WATTLE_CHECK(make_dirs(folder, 0700));
  SizingLadder ladder(*rig.book, true, 1, folder + "/" + std::string(kSizingFile), rig.clock, rig.log);
  for (const std::string& owner : owners) {
    kube::Pod pod = test::RequestRig::pod_of(owner, owner);
    pod.qos = "Guaranteed";
    pod.shrink_allowed = true;
    pod.cpu_request_cores = kRequestCores;
    pod.memory_request_bytes = static_cast<double>(kRequestMebibytes * test::kMebibyte);
    rig.report(pod);
    ladder.described(pod);
  }
  WATTLE_CHECK(ladder.set_mode({{"mode", "shadow"}}, "operator/test"));
  for (int i = 0; i < kMinutes; ++i) {
    rig.minute(kUsedCores, kUsedMebibytes * test::kMebibyte, calm);
    ladder.record(*rig.state.node("n1"));
    WATTLE_CHECK(ladder.report(R"({"namespace":"shop","workloads":{}})"));
    finish(ladder.tick());
  }
  StoreFileOptions options;
  options.path = folder + "/store.db";
  WATTLE_TRY(StoreFile store, StoreFile::open_(options));
  return store.requests().put(rig.kept, to_ns(rig.clock.wall()) / 1'000'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: sizing_history DATA-FOLDER OWNER...\n");
    return 2;
  }
  const Status written = write(argv[1], {argv + 2, argv + argc});
  return written ? 0 : failed(written.error());
}
