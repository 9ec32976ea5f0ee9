// sizes: tables of requests and lifetimes, valid and invalid; episodes of unlike and crowded pods, and their runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "lab/bench/live_run.hpp"
#include "lab/policies/lab_policies.hpp"
#include "sim/scenarios/consolidation.hpp"
#include "sim/scenarios/pod_sizes.hpp"

namespace wattle::sim::consolidation {
namespace {

constexpr double kMiB = 1024.0 * 1024;
const std::string kHead = "name,cpu_milli,memory_mib,qos,creation_time,deletion_time\n";

const Dataset& data() {
  static const Dataset made = synthetic_dataset(3);
  return made;
}

Options openb(std::size_t nodes) {
  Options options;
  options.nodes = nodes;
  options.churn = true;
  options.sizes = Sizes::openb;
  options.cluster_model = ClusterModel::production;
  return options;
}

TEST_CASE("a pod is a share of the mean node, memory per core, and a lifetime; one that never ended is omitted") {
  const auto sizes =
      parse_pod_sizes(kHead + "a,4000,8192,LS,100,700\nb,1000,512,BE,5,\nc,500,256,BE,0,60\n", "pods.csv", 8);
  REQUIRE(sizes.has_value());
  REQUIRE(sizes->size() == 2);
  CHECK(sizes->front() == PodSize{0.5, 2048 * kMiB, 600});
  CHECK(sizes->back() == PodSize{1.0 / 16, 512 * kMiB, 60});
  CHECK(parse_mean_node_cores("sn,cpu_milli\nx,4000\ny,12000\n", "nodes.csv").value() == 8);
}

TEST_CASE("an invalid table names file, line and column") {
  const auto message = [](const std::string& text) {
    const auto sizes = parse_pod_sizes(text, "x/openb_pods.csv", 1);
    return sizes ? std::string() : sizes.error().message();
  };
  CHECK(message("").find("x/openb_pods.csv: is empty") != std::string::npos);
  CHECK(message("name,cpu_milli\n").find("line 1: has no column memory_mib") != std::string::npos);
  CHECK(message(kHead + "a,4000,8192,LS,100\n").find("line 2: is too short for the column deletion_time") !=
        std::string::npos);
  CHECK(message(kHead + "a,many,8192,LS,100,700\n").find("line 2: column cpu_milli is not a number") !=
        std::string::npos);
  CHECK(message(kHead + "a,nan,8192,LS,100,700\n").find("column cpu_milli") != std::string::npos);
  CHECK(message(kHead + "a,-4,8192,LS,100,700\n").find("column cpu_milli") != std::string::npos);
  CHECK(message(kHead + "a,4000,8192,LS,100,700\n").find("fewer than two pods") != std::string::npos);
}

TEST_CASE("a folder without the table has no sizes, and one without its nodes gets an error") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "wattle-pod-sizes-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  CHECK(load_pod_sizes(folder.string()).value().empty());
  std::ofstream(folder / "openb_pods.csv") << kHead << "a,4000,8192,LS,100,700\nb,4000,8192,LS,100,700\n";
  const auto without = load_pod_sizes(folder.string());
  REQUIRE_FALSE(without.has_value());
  CHECK(without.error().message().find("openb_nodes.csv") != std::string::npos);
  std::ofstream(folder / "openb_nodes.csv") << "sn,cpu_milli\nx,16000\n";
  CHECK(load_pod_sizes(folder.string()).value().size() == 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("unlike pods: half of the servers have room for each, and requests over time are as configured") {
  const Options options = openb(20);
  double asked = 0, wanted = 0;
  std::size_t kinds = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Episode episode = make_episode(data(), options, seed);
    double largest = 0, smallest = 1e9;
    for (const Pod& pod : episode.pods) {
      const auto room = std::count_if(episode.servers.begin(), episode.servers.end(), [&](const ServerModel& server) {
        return pod.request.cpu_cores <= server.cores && pod.request.memory_bytes <= server.memory_bytes;
      });
      REQUIRE(2 * static_cast<std::size_t>(room) >= episode.servers.size());
      CHECK(pod.times == pod.request.cpu_cores);
      largest = std::max(largest, pod.request.cpu_cores);
      smallest = std::min(smallest, pod.request.cpu_cores);
      asked += pod.request.cpu_cores * std::max(0.0, std::min(pod.life_s, episode.end_s - pod.arrives_s));
    }
    kinds += largest > 2 * smallest ? 1 : 0;
    wanted += options.churn_fill * episode.total_cores() * episode.end_s;
  }
  CHECK(kinds == 20);
  CHECK(asked / wanted > 0.8);  // it starts empty, and lifetimes end with the episode
  CHECK(asked / wanted < 1.2);
}

TEST_CASE("other size options change neither servers nor arrivals of one-core pods") {
  Options options = openb(6);
  options.sizes = Sizes::one_core;
  const Episode plain = make_episode(data(), options, 4);
  options.crowded = true;
  const Episode crowded = make_episode(data(), options, 4);
  CHECK(plain.servers.front().watts == crowded.servers.front().watts);
  double times = 0;
  for (const Pod& pod : plain.pods) CHECK((pod.times == 1 && pod.request.cpu_cores == kPodRequest.cpu_cores));
  for (const Pod& pod : crowded.pods) times += pod.times / static_cast<double>(crowded.pods.size());
  CHECK(times > 1);
  CHECK(times < 4);
}

TEST_CASE("a pod that fits nowhere waits: each is placed once, or waits at the end") {
  Options options = openb(4);
  options.warm_s = 1800;
  options.measure_s = 4 * 3600;
  options.churn_fill = 0.9;
  const Contestant contestant = contestant_named("amortised", nullptr).value();
  double waited_s = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Episode episode = make_episode(data(), options, seed);
    const RunFigures figures = run_live(episode, nullptr, contestant, {}).value();
    CHECK(figures.placements + figures.refused == static_cast<double>(episode.pods.size()));
    CHECK(figures.work_core_s > 0);
    waited_s += figures.pending_s;
  }
  CHECK(waited_s > 0);
}

TEST_CASE("crowded pods wait for each other, those of one core and no bursts do not") {
  Options options = openb(4);
  options.sizes = Sizes::one_core;
  options.warm_s = 3600;
  options.measure_s = 4 * 3600;
  options.churn_fill = 0.9;
  const Contestant contestant = lab_contestant("most-allocated").value();
  double plain = 0, crowded = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    options.crowded = false;
    plain += run_live(make_episode(data(), options, seed), nullptr, contestant, {}).value().waiting;
    options.crowded = true;
    crowded += run_live(make_episode(data(), options, seed), nullptr, contestant, {}).value().waiting;
  }
  CHECK(plain == 0);
  CHECK(crowded > 0);
}

TEST_CASE("waiting is counted hour by hour, and judged from the second hour on") {
  Options options = openb(4);
  options.sizes = Sizes::one_core;
  options.crowded = true;
  options.warm_s = 3600;
  options.measure_s = 2 * 3600;
  options.churn_fill = 0.9;
  const Contestant contestant = lab_contestant("most-allocated").value();
  const RunFigures run = run_live(make_episode(data(), options, 1), nullptr, contestant, {}).value();
  REQUIRE(run.hours.size() == 3);
  double waited_pod_s = 0, pod_s = 0;
  for (std::size_t hour = 1; hour < 3; ++hour) {
    waited_pod_s += run.hours[hour].waited_pod_s;
    pod_s += run.hours[hour].pod_s;
  }
  CHECK(run.waiting == doctest::Approx(waited_pod_s / pod_s));  // no node wakes, and the first hour is not judged
  CHECK(waited_from_second_hour(run).value() == doctest::Approx(run.waiting));
  CHECK(run.wait_limit == doctest::Approx(0.01));
  CHECK_FALSE(waited_from_second_hour(RunFigures{}));
}

}  // namespace
}  // namespace wattle::sim::consolidation
