#include "agent/render.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "agent/recorder.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "tests/places.hpp"
#include "tree.hpp"

using namespace wattle;
using namespace wattle::agent;
using wattle::agent::test::Tree;

namespace {
KernelValues all_kernel_values() { return {1, 2, 3, 4, 5.5, 6, 7, 8}; }

// A sample with every value.
Sample all_values() {
  Sample sample;
  Record& r = sample.record;
  r.incarnation = r.seq = 1;
  r.interval_ns = 1'000'000'000;
  NodeValues& n = r.node;
  n.cpu_used_cores = n.cpu_cores = 1;
  n.memory_used_bytes = n.memory_total_bytes = 1;
  n.net_rx_bytes_per_s = n.net_tx_bytes_per_s = n.disk_read_bytes_per_s = n.disk_write_bytes_per_s = 1;
  n.disk_used_ratio = 0.5;
  n.tcp_established = n.energy_uj = n.idle_energy_uj = n.unattributed_energy_uj = 1'000'000;
  n.pressure = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  n.energy_source = EnergySource::pcm;
  n.domains = {{"package-0", 5'000'000, true, EnergySource::pcm}};
  n.sockets = {{0, 1.0, 2.0, 3.0, {0.25, 0.75}}};
  n.kernel = all_kernel_values();
  sample.cgroup_usage_us = 9;
  for (const char* name : {"a,\"b\".service", "c.service"}) {
    WorkloadValues w;
    w.cgroup_id = 7;
    w.kind = WorkloadKind::service;
    w.name = name;
    w.cpu_usage_us = w.energy_uj = w.memory_bytes = w.io_read_bytes = w.io_write_bytes = w.pids = 1;
    w.cpu_throttled_us = w.memory_anon_bytes = w.memory_file_bytes = w.memory_high_events = w.memory_oom_kills = 1;
    w.pressure = n.pressure;
    w.kernel = n.kernel;
    r.workloads.push_back(w);
    sample.workloads.emplace_back();
    sample.paths.emplace_back("/system.slice/x");
  }
  r.probes = {{"default", 1.0, 2.0, 0.5, 0.1, 10, ProbeKind::http, 1, 2, 3, 4, 5}};
  return sample;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  return cells;
}

using Rows = std::vector<std::map<std::string, std::string>>;
Rows rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const auto header = cells_of(line);
  Rows rows;
  while (std::getline(lines, line)) {
    const auto cells = cells_of(line);
    REQUIRE(cells.size() == header.size());
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[header[i]] = cells[i];
  }
  return rows;
}
}  // namespace

TEST_CASE("a sample as JSON has the raw counters and omits absent values") {
  const auto fixture = tests::source_dir() + "/tests/fixtures/agent/two-socket-server";
  AgentConfig config;
  config.roots = Roots::below(fixture);
  const ManualClock clock;
  auto sampler = Sampler::open_(config, clock, 0);
  REQUIRE(sampler.has_value());
  const auto json = wattle::SortedJson::parse(sample_json("n1", sampler->tick()));
  CHECK(json["node_name"] == "n1");
  CHECK(json["raw"]["cgroup_cpu_usage_us"] == 15300000);
  CHECK(json["raw"]["rapl"].size() == 6);
  CHECK_FALSE(json["node"].contains("cpu_used_cores"));
  CHECK(json["errors"].contains("net"));
  REQUIRE(json["workloads"].size() == 2);
  CHECK(json["workloads"][0]["kind"] == "pod");
  CHECK(json["workloads"][0]["raw"]["cpu_usage_us"] == 9000000);
}

TEST_CASE("CSV has a row for the node and each domain, socket, workload and probe, and every column is used") {
  const auto rows = rows_of(csv_header() + sample_csv("n1", all_values()));
  REQUIRE(rows.size() == 6);
  std::string scopes;
  for (const auto& row : rows) scopes += row.at("scope") + " ";
  CHECK(scopes == "node domain socket workload workload probe ");
  for (const auto& cell : rows[0]) {
    const std::string& column = cell.first;  // clang 14 cannot capture structured bindings
    bool filled = false;
    for (const auto& row : rows) filled = filled || !row.at(column).empty();
    CHECK_MESSAGE(filled, column);
  }
  CHECK(rows[0].at("power_w") == "1");
  CHECK(rows[1].at("energy_source") == "pcm");
  CHECK(rows[1].at("energy_gap") == "true");
  CHECK(rows[2].at("package_c_state_ratios") == "0.25;0.75");
  CHECK(rows[3].at("name") == "a,\"b\".service");
  CHECK(rows[3].at("tcp_srtt_us") == "5.5");
  CHECK(rows[3].at("tcp_established").empty());
  CHECK(rows[5].at("bad_answers") == "5");
}

TEST_CASE("JSON has the same values") {
  const auto json = wattle::SortedJson::parse(sample_json("n1", all_values()));
  CHECK(json["node"]["domains"][0]["source"] == "pcm");
  CHECK(json["node"]["sockets"][0]["package_c_state_ratios"].size() == 2);
  CHECK(json["node"]["kernel"]["block_ios"] == 8);
  CHECK(json["workloads"][0]["memory_oom_kills"] == 1);
  CHECK(json["workloads"][0]["kernel"]["run_queue_us"] == 3);
  CHECK(json["probes"][0]["kind"] == "http");
  CHECK(json["probes"][0]["unreachables"] == 4);
}

TEST_CASE("docs/reference/agent.md lists the columns of CSV, in order") {
  std::ifstream file(tests::source_dir() + "/docs/reference/agent.md");
  std::string line, in_docs;
  while (std::getline(file, line))
    if (line.starts_with("node_name,")) in_docs = line;
  CHECK(in_docs + "\n" == csv_header());
}

TEST_CASE("a filter selects one pod or one workload name and keeps the node") {
  Sample sample = all_values();
  sample.record.workloads[1].kind = WorkloadKind::pod;
  const auto scopes = [&](const WorkloadFilter& filter) {
    std::string names;
    for (const auto& row : rows_of(csv_header() + sample_csv("n1", sample, filter)))
      if (row.at("scope") == "node" || row.at("scope") == "workload") names += row.at("name") + " ";
    CHECK(wattle::SortedJson::parse(sample_json("n1", sample, filter))["workloads"].size() == (filter.any() ? 1 : 2));
    return names;
  };
  CHECK(scopes({}) == "n1 a,\"b\".service c.service ");
  CHECK(scopes({.pod = "c.service"}) == "n1 c.service ");
  CHECK(scopes({.name = "a,\"b\".service"}) == "n1 a,\"b\".service ");
}

TEST_CASE("a full disk is reported by name, and earlier output stays complete") {
  auto full = LineFile::create("/dev/full");
  REQUIRE(full.has_value());
  const auto written = full->write("a line\n");
  REQUIRE_FALSE(written);
  CHECK(written.error().subject == "/dev/full");
  CHECK_FALSE(written.error().fix.empty());
  const Tree tree;
  auto file = LineFile::create(tree.path() + "/out.csv");
  REQUIRE(file.has_value());
  REQUIRE(file->write("one\n"));
  REQUIRE(file->write("two\n"));
  REQUIRE(file->finish());
  CHECK(*Dir::open_(tree.path())->read_file("out.csv") == "one\ntwo\n");
  CHECK(LineFile::create(tree.path() + "/no/out.csv").error().code == Errc::not_found);
}

TEST_CASE("doctor names what is lost, with its cause and fix") {
  AgentConfig config;
  config.roots = Roots::below(tests::source_dir() + "/tests/fixtures/agent/vm-hybrid-cgroup");
  const auto findings = examine(config);
  CHECK(healthy(findings));
  const auto find = [&](const std::string& source) {
    for (const auto& finding : findings)
      if (finding.source == source) return finding;
    return Finding{};
  };
  CHECK(find("cgroup").ok);
  CHECK(find("psi").ok);
  CHECK(find("cgroup-memory").text().find("cgroup v1: ") != std::string::npos);
  CHECK_FALSE(find("rapl").ok);
  CHECK(find("rapl").text().find("lost") != std::string::npos);
  const Tree bare;
  config.roots = Roots::below(bare.path());
  CHECK_FALSE(healthy(examine(config)));
}

TEST_CASE("doctor reports no source as usable whose file has no values") {
  const std::vector<std::pair<std::string, std::string>> good{
      {"proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n"},
      {"proc/meminfo", "MemTotal: 8 kB\nMemAvailable: 4 kB\n"},
      {"proc/net/dev", "Inter-|   Receive\n eth0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"},
      {"proc/diskstats", "8 0 sda 1 0 2 0 3 0 4 0 0 0 0\n"},
      {"proc/net/snmp", "Tcp: CurrEstab\nTcp: 3\n"},
      {"proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"},
      {"proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"},
      {"proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"},
      {"proc/self/mountinfo", "31 30 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
      {"sys/class/hwmon/hwmon0/power1_average", "300000000\n"},
      {"sys/fs/cgroup/cgroup.controllers", "cpu memory io pids\n"}};
  const Tree tree{{"sys/class/hwmon/hwmon0/name", "power_meter\n"}};
  const auto states = [&] {
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    std::map<std::string, std::string> found;
    for (const auto& one : examine(config)) found[one.source] = one.state();
    return found;
  };
  for (const auto& [name, content] : good) tree.put(name, content);
  const auto well = states();
  const std::map<std::string, std::string> sources{{"proc/stat", "cpu"},
                                                   {"proc/meminfo", "memory"},
                                                   {"proc/net/dev", "net"},
                                                   {"proc/diskstats", "disk"},
                                                   {"proc/net/snmp", "tcp"},
                                                   {"proc/pressure/cpu", "psi"},
                                                   {"proc/pressure/memory", "psi"},
                                                   {"proc/pressure/io", "psi"},
                                                   {"proc/self/mountinfo", "cgroup"},
                                                   {"sys/class/hwmon/hwmon0/power1_average", "hwmon"},
                                                   {"sys/fs/cgroup/cgroup.controllers", "cgroup-memory"}};
  for (const auto& file : good) {
    const auto& [name, content] = file;
    CAPTURE(file.first);
    const std::string& source = sources.at(name);
    CHECK(well.at(source) == "ok");
    for (const char* bad : {"", "\n", "nothing of use\n", "\xff\xfe: 1 2\n"}) {
      tree.put(name, bad);
      CHECK(states().at(source) != "ok");
    }
    tree.put(name, content);
  }
  tree.put("proc/stat", "");
  CHECK_FALSE(healthy([&] {
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    return examine(config);
  }()));
  tree.remove("sys/fs/cgroup/cgroup.controllers");
  CHECK(states().at("cgroup") == "lost");  // an empty folder
}

TEST_CASE("doctor reports pods that are only on cgroup v1, and what is lost for them") {
  const std::string v1 = "sys/fs/cgroup/cpu,cpuacct/", v2 = "sys/fs/cgroup/unified/";
  const std::string pod = "burstable/pod98cee708-023b-11eb-933d-42010a800193/cpuacct.usage";
  const std::string hybrid =
      "30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n31 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "34 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
  const auto finding = [&](const std::string& mounts, std::initializer_list<std::string> files) {
    const Tree tree{{"proc/self/mountinfo", mounts}, {v1 + "cpuacct.usage", "1\n"}, {v2 + "cgroup.controllers", "\n"}};
    for (const auto& file : files) tree.put(file, "1\n");
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    for (const auto& one : examine(config))
      if (one.source == "cgroup-pods") return one.text();
    return std::string();
  };
  for (const char* kubepods : {"kubepods/", "kubepods.slice/", "kubelet/kubepods/"}) {
    const std::string text = finding(hybrid, {v1 + kubepods + pod});
    CHECK(text.find("lost: pods are only on cgroup v1") != std::string::npos);
    CHECK(text.find("energy") != std::string::npos);
    CHECK(text.find("unified_cgroup_hierarchy") != std::string::npos);
  }
  CHECK(finding(hybrid.substr(0, hybrid.find("31 30")) + hybrid.substr(hybrid.find("34 30")), {v1 + "kubepods/" + pod})
            .find("only on cgroup v1") != std::string::npos);
  // A kubelet in a container, as kind's, and a kubepods cgroup that a kubelet left in v2 without pods.
  CHECK(
      finding(hybrid, {v1 + "docker/" + std::string(64, 'a') + "/kubelet/kubepods/" + pod}).find("only on cgroup v1") !=
      std::string::npos);
  CHECK(finding(hybrid, {v1 + "kubepods/" + pod, v2 + "kubepods/burstable/cpu.stat"}).find("only on cgroup v1") !=
        std::string::npos);
  CHECK(finding(hybrid, {v1 + "kubepods/burstable/cpuacct.usage"}).empty());
  CHECK(finding(hybrid, {v1 + "system.slice/x"}).empty());
  CHECK(finding(hybrid, {v1 + "kubepods/" + pod, v2 + "kubepods/" + pod}).empty());
}

TEST_CASE("a cgroup controller may be on cgroup v1 or disabled, and doctor reports which") {
  const auto fix_of = [](const std::string& v1_mount) {
    const Tree tree{{"proc/self/mountinfo", "31 30 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" + v1_mount},
                    {"sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n"},
                    {"sys/fs/cgroup/memory/tasks", ""},
                    {"sys/fs/cgroup/cpu/tasks", ""}};
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    for (const auto& one : examine(config))
      if (one.source == "cgroup-memory") return one.text();
    return std::string();
  };
  const std::string off = fix_of("");  // cgroup_disable=memory, as on a Raspberry Pi
  CHECK(off.find("lost") != std::string::npos);
  CHECK(off.find("cgroup_disable=memory") != std::string::npos);
  CHECK(off.find("v1") == std::string::npos);
  const std::string v1 = fix_of("34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  CHECK(v1.find("ok") != std::string::npos);
  CHECK(v1.find("cgroup v1: ") != std::string::npos);
  CHECK(fix_of("34 30 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n").find("turned off") !=
        std::string::npos);
}

TEST_CASE("doctor distinguishes what a machine never had from what it lost, and lists the former last") {
  const auto findings = [](const std::string& cpuinfo) {
    const Tree tree{{"proc/cpuinfo", cpuinfo}, {"proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n"}};
    AgentConfig config;
    config.roots = Roots::below(tree.path());
    return examine(config);
  };
  const auto state = [](const std::vector<Finding>& all, const std::string& source) {
    for (const auto& one : all)
      if (one.source == source) return std::string(one.state());
    return std::string();
  };
  const auto guest = findings("vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor lahf_lm\n");
  for (const char* source : {"rapl", "perf-power", "hwmon"}) CHECK(state(guest, source) == "absent");
  const auto first = std::find_if(guest.begin(), guest.end(), [](const auto& one) { return one.absent; });
  CHECK(std::all_of(first, guest.end(), [](const auto& one) { return one.absent; }));
  CHECK(first->text().find(": absent: ") != std::string::npos);
  const auto server = findings("vendor_id\t: GenuineIntel\nflags\t\t: fpu lahf_lm\n");
  CHECK(state(server, "rapl") == "lost");  // a module is missing
  CHECK(state(server, "hwmon") == "absent");
}

TEST_CASE("doctor checks what a configuration names: keys, state, token and controller") {
  const Tree tree{{"token", "correct-horse-battery"}, {"agent.key", "no key"}};
  AgentConfig config;
  config.roots = Roots::below(tests::source_dir() + "/tests/fixtures/agent/vm-hybrid-cgroup");
  config.state_dir = tree.path();
  config.controller = {"tcp://127.0.0.1:1", tree.path() + "/none.pub", tree.path() + "/agent.key"};
  config.http_port = 0;
  config.http_access.token_file = tree.path() + "/token";
  REQUIRE(::chmod(config.http_access.token_file.c_str(), 0400) == 0);
  REQUIRE(::chmod(config.controller.key_file.c_str(), 0644) == 0);
  const auto find = [&](const std::string& source) {
    for (const auto& finding : examine(config))
      if (finding.source == source) return finding;
    return Finding{"absent", false, true, "", ""};
  };
  CHECK(find("state").ok);
  CHECK(find("token").ok);
  CHECK_FALSE(find("key").ok);
  CHECK(find("key").fix.find("chmod") != std::string::npos);
  CHECK_FALSE(find("server-key").ok);
  CHECK(find("controller").source == "controller");
  CHECK_FALSE(find("controller").ok);
  CHECK_FALSE(healthy(examine(config)));

  config.controller = {};
  CHECK(find("controller").source == "absent");
  CHECK(healthy(examine(config)));
  config.http_access.token_file.clear();
  config.http_address = "0.0.0.0";
  CHECK_FALSE(find("token").ok);
  CHECK(find("token").optional);
  config.state_dir = "/nonexistent";
  CHECK_FALSE(healthy(examine(config)));
}
