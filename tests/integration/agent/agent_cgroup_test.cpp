// The built agent on the real machine, while stress-ng loads a cgroup that is named like a kubelet's pod cgroup.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "child.hpp"
#include "common/json/value.hpp"

using namespace wattle;
using agent::test::agent_binary;
using agent::test::Child;
using json = wattle::SortedJson;

namespace {
// A pod of this process alone, so that two runs on one machine do not share a cgroup.
const std::string kUid = "5eed0000-1111-4222-8333-" + std::to_string(100'000'000'000 + ::getpid());
const std::string kUid_ = "5eed0000_1111_4222_8333_" + std::to_string(100'000'000'000 + ::getpid());

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

std::optional<std::uint64_t> number_behind(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  return std::stoull(text.substr(at + key.size()));
}

std::string cgroup2_mount() {
  std::istringstream mounts(text_of("/proc/self/mounts"));
  std::string device, where, type, line;
  while (std::getline(mounts, line)) {
    std::istringstream(line) >> device >> where >> type;
    if (type == "cgroup2") return where;
  }
  return "";
}

// Directories of one pod below the cgroup2 mount; the destructor removes them and kills their processes.
class PodCgroup {
 public:
  explicit PodCgroup(const std::string& mount) {
    std::string path = mount;
    for (const std::string& part :
         {std::string("kubepods.slice"), std::string("kubepods-burstable.slice"),
          "kubepods-burstable-pod" + kUid_ + ".slice", "cri-containerd-" + std::string(64, 'c') + ".scope"}) {
      path += "/" + part;
      if (::mkdir(path.c_str(), 0755) == 0)
        made_.push_back(path);
      else if (errno == EEXIST && part.size() > 40)
        made_.push_back(path);  // left by a killed run that had the same PID
      else if (errno != EEXIST) {
        problem_ = path + ": " + std::strerror(errno);
        return;
      }
      if (part.find(kUid_) != std::string::npos) pod_ = path;
    }
    container_ = path;
  }
  ~PodCgroup() { remove(); }
  PodCgroup(const PodCgroup&) = delete;
  PodCgroup& operator=(const PodCgroup&) = delete;

  void remove() {
    if (!container_.empty()) {
      std::ofstream(container_ + "/cgroup.kill") << "1";
      // The kernel signals by POLLPRI that the file has changed since this descriptor last read it.
      const File events(Fd(::open((container_ + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC)), container_);
      for (int i = 0; i < 100; ++i) {
        const auto text = events.read_all();
        if (!text || text->find("populated 1") == std::string::npos) break;
        pollfd changed{events.fd(), POLLPRI, 0};
        ::poll(&changed, 1, 100);
      }
    }
    for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
  }
  const std::string& pod() const { return pod_; }
  const std::string& container() const { return container_; }
  const std::string& problem() const { return problem_; }
  std::uint64_t id() const {
    struct stat info {};
    REQUIRE(::stat(pod_.c_str(), &info) == 0);
    return info.st_ino;
  }

 private:
  std::vector<std::string> made_;
  std::string pod_, container_, problem_;
};

std::vector<std::string> stress() {
  return {"stress-ng", "--quiet", "--cpu", "1", "--vm", "1", "--vm-bytes", "64m", "--timeout", "120"};
}

std::function<bool()> into(const std::string& cgroup) {
  return [cgroup] {
    std::ofstream procs(cgroup + "/cgroup.procs");
    procs << ::getpid() << std::flush;
    return procs.good();
  };
}

// Counters that are read from the kernel without the agent's code.
struct Independent {
  std::uint64_t busy_us = 0, memory_used_bytes = 0, pod_us = 0;
  std::optional<std::uint64_t> pod_cpu_some_us, node_cpu_some_us;
};

Independent look(const std::string& pod) {
  Independent now;
  std::istringstream stat(text_of("/proc/stat"));
  std::string cpu;
  std::array<std::uint64_t, 7> t{};
  stat >> cpu;
  for (auto& value : t) stat >> value;
  now.busy_us = (t[0] + t[1] + t[2] + t[5] + t[6]) * (1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
  const std::string memory = text_of("/proc/meminfo");
  now.memory_used_bytes = 1024 * (*number_behind(memory, "MemTotal:") - *number_behind(memory, "MemAvailable:"));
  now.pod_us = *number_behind(text_of(pod + "/cpu.stat"), "usage_usec ");
  now.pod_cpu_some_us = number_behind(text_of(pod + "/cpu.pressure"), "total=");
  now.node_cpu_some_us = number_behind(text_of("/proc/pressure/cpu"), "total=");
  return now;
}

const json* find_pod(const json& sample, bool ended, std::uint64_t id) {
  for (const auto& workload : sample["workloads"])
    if (workload["name"] == kUid && workload["ended"] == ended && workload["cgroup_id"] == id) return &workload;
  return nullptr;
}

bool skipped(const std::string& why) {
  std::printf("[skipped] %s\n", why.c_str());
  return true;
}

bool cannot(const std::string& mount) {
  if (mount.empty()) return skipped("no cgroup2 file system is mounted");
  if (std::system("command -v stress-ng >/dev/null 2>&1") != 0) return skipped("stress-ng is not installed");
  const PodCgroup probe(mount);
  if (!probe.problem().empty()) return skipped("cannot create cgroups: " + probe.problem());
  Child child({"true"}, into(probe.container()));
  if (child.wait() != 0) return skipped("cannot move a process into " + probe.container());
  return false;
}
}  // namespace

TEST_CASE("the agent's samples under load lie between independent readings before and after") {
  const std::string mount = cgroup2_mount();
  if (cannot(mount)) return;
  const PodCgroup cgroup(mount);
  Child load(stress(), into(cgroup.container()));

  const Independent before = look(cgroup.pod());
  Child agent({agent_binary(), "sample", "--count", "2", "--interval", "1s", "-o", "json"});
  const auto first_line = agent.line(), second_line = agent.line();
  CHECK(agent.wait() == 0);
  const Independent after = look(cgroup.pod());
  REQUIRE(first_line);
  REQUIRE(second_line);
  const json first = json::parse(*first_line), second = json::parse(*second_line);
  CAPTURE(*second_line);

  const auto number = [](const json& value) { return value.get<std::uint64_t>(); };
  const auto within = [](std::uint64_t low, std::uint64_t value, std::uint64_t high) {
    CHECK(low <= value);
    CHECK(value <= high);
  };
  // Node
  within(before.busy_us, number(first["raw"]["cpu_busy_us"]), number(second["raw"]["cpu_busy_us"]));
  within(number(first["raw"]["cpu_busy_us"]), number(second["raw"]["cpu_busy_us"]), after.busy_us);
  const double interval_s = second["interval_ns"].get<double>() / 1e9;
  CHECK(second["node"]["cpu_used_cores"].get<double>() * interval_s * 1e6 <=
        static_cast<double>(after.busy_us - before.busy_us) * 1.05 + 50'000);
  const std::uint64_t memory_slack =
      second["node"]["memory_total_bytes"].get<std::uint64_t>() / 10;  // other processes start and end meanwhile
  const auto [least, most] = std::minmax(before.memory_used_bytes, after.memory_used_bytes);
  within(least - std::min(memory_slack, least), number(second["node"]["memory_used_bytes"]), most + memory_slack);
  if (before.node_cpu_some_us)
    within(*before.node_cpu_some_us, number(second["raw"]["pressure"]["cpu_some_us"]), *after.node_cpu_some_us);

  // Pod
  const json* one = find_pod(first, false, cgroup.id());
  const json* two = find_pod(second, false, cgroup.id());
  REQUIRE(one != nullptr);
  REQUIRE(two != nullptr);
  CHECK((*two)["kind"] == "pod");
  const std::uint64_t used_one = number((*one)["raw"]["cpu_usage_us"]),
                      used_two = number((*two)["raw"]["cpu_usage_us"]);
  within(before.pod_us, used_one, used_two);
  within(used_one, used_two, after.pod_us);
  CHECK(used_two > used_one);  // stress-ng runs
  CHECK((*two)["cpu_usage_us"] == used_two - used_one);
  if (before.pod_cpu_some_us)
    within(*before.pod_cpu_some_us, number((*two)["raw"]["pressure"]["cpu_some_us"]), *after.pod_cpu_some_us);
  // memory.current exists only where the controller is on cgroup v2.
  const bool has_memory = !text_of(cgroup.pod() + "/memory.current").empty();
  CHECK(two->contains("memory_bytes") == has_memory);
  if (has_memory) CHECK((*two)["memory_bytes"].get<std::uint64_t>() > 0);

  // Energy: measured or marked as estimated, and completely attributed.
  std::uint64_t reported = second["node"]["idle_energy_uj"].get<std::uint64_t>() +
                           second["node"]["unattributed_energy_uj"].get<std::uint64_t>();
  for (const auto& workload : second["workloads"]) reported += workload.value("energy_uj", std::uint64_t{0});
  CHECK(reported == second["node"]["energy_uj"].get<std::uint64_t>());
  CHECK((*two)["energy_uj"].get<std::uint64_t>() > 0);
  CHECK(second["node"]["energy_source"] != "none");
}

TEST_CASE("a removed pod is reported as ended, and a new pod at the same path is a new workload") {
  const std::string mount = cgroup2_mount();
  if (cannot(mount)) return;
  std::optional<PodCgroup> cgroup(std::in_place, mount);
  std::optional<Child> load(std::in_place, stress(), into(cgroup->container()));
  const std::uint64_t old_id = cgroup->id();

  Child agent({agent_binary(), "sample", "--count", "1000", "--interval", "100ms", "-o", "json"});
  // The first sample for which `wanted` holds; absent if there is none.
  const auto until = [&](const std::function<bool(const json&)>& wanted) -> std::optional<json> {
    for (int i = 0; i < 300; ++i) {
      const auto line = agent.line();
      if (!line) return std::nullopt;
      json sample = json::parse(*line);
      if (wanted(sample)) return sample;
    }
    return std::nullopt;
  };
  REQUIRE(
      until([&](const json& s) { return find_pod(s, false, old_id) != nullptr && s["seq"].get<std::uint64_t>() > 1; }));
  cgroup->remove();
  load.reset();
  cgroup.emplace(mount);
  const std::uint64_t new_id = cgroup->id();
  REQUIRE(new_id != old_id);
  load.emplace(stress(), into(cgroup->container()));

  bool ended = false;
  const auto living = until([&](const json& s) {
    ended = ended || find_pod(s, true, old_id) != nullptr;
    CHECK((!ended || find_pod(s, false, old_id) == nullptr));
    const json* pod = find_pod(s, false, new_id);
    return ended && pod != nullptr && pod->contains("cpu_usage_us");
  });
  REQUIRE(living);
  const json* pod = find_pod(*living, false, new_id);
  CHECK((*pod)["cpu_usage_us"].get<std::uint64_t>() <= (*pod)["raw"]["cpu_usage_us"].get<std::uint64_t>());
  agent.end(SIGTERM);
}
