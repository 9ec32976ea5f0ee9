// A controller that is killed at random moments, agents with real spools, and the store's content afterwards.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "common/sqlite/spool.hpp"
#include "controller/store/store_file.hpp"
#include "tests/integration/agent/child.hpp"
#include "tests/integration/controller/free_port.hpp"
#include "tests/integration/controller/world.hpp"
#include "tests/places.hpp"
#include "tests/unit/controller/store_tables.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using wattle::agent::test::Child;

namespace {

class Agent {
 public:
  Agent(World& world, std::size_t index, std::uint64_t spool_bytes)
      : world_(world), index_(index), node_(World::name(index)) {
    options_.path = world.dir / (node_ + ".db");
    options_.max_bytes = spool_bytes;
    restart();
  }
  // Simulates a crash of the agent alone: a new incarnation over the same spool.
  void restart() {
    session_.reset();
    // Writes pending samples to the spool, so that all dropped ones are counted.
    while (spool_ && spool_->patience() < 10s) {
      transport::poll({}, {}, 5ms);
      spool_->maintain();
    }
    if (spool_) dropped_ += spool_->dropped();
    spool_.reset();
    auto opened = sqlite::Spool::open_(options_, world_.clock);
    if (!opened) FAIL(opened.error().message());
    spool_ = std::move(*opened);
    ++incarnation_;
    seq_ = 0;
    transport::ClientOptions to = world_.to(world_.config.telemetry_endpoint, world_.agents[index_]);
    to.reconnect_max = 100ms;
    auto client = transport::Client::connect(world_.context, to);
    REQUIRE(client);
    session_.emplace(std::move(*client), *spool_, hello_of(node_, incarnation_), world_.clock, world_.log,
                     incarnation_ * 100 + index_, transport::Pace{Duration{}, Duration{}, 1e6, 1e6});
  }
  void push(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Record record = record_at(++seq_, incarnation_);
      record.workloads.push_back(pod_values("pod-" + std::to_string(seq_ % 3), 1000));
      REQUIRE(spool_->push(record));
      pushed_.insert({incarnation_, seq_});
    }
  }
  void pump() {
    spool_->maintain();
    session_->pump();
  }
  bool empty() const { return spool_->size() == 0; }
  std::uint64_t dropped() const { return dropped_ + spool_->dropped(); }
  std::uint64_t acked() const { return session_->status().acked_seq; }
  const std::set<RecordMark>& pushed() const { return pushed_; }
  const std::string& node() const { return node_; }

 private:
  World& world_;
  std::size_t index_;
  std::string node_;
  sqlite::SpoolOptions options_;
  std::unique_ptr<sqlite::Spool> spool_;
  std::optional<transport::AgentSession> session_;
  std::uint64_t incarnation_ = 0, seq_ = 0, dropped_ = 0;
  std::set<RecordMark> pushed_;
};

struct Rig {
  World world{3};
  std::vector<std::unique_ptr<Agent>> agents;
  std::unique_ptr<Child> controller;

  Rig() {
    world.config.telemetry_endpoint = "tcp://127.0.0.1:" + std::to_string(free_port());
    const std::string config = "mode: off\nkey: " + world.config.key_file + "\nallow_list: " + world.config.allow_file +
                               "\ndata_dir: " + world.config.data_dir + "\nstore: {path: " + (world.dir / "store.db") +
                               "}\ntelemetry: {endpoint: \"" + world.config.telemetry_endpoint +
                               "\"}\nfeed: {endpoint: \"tcp://127.0.0.1:0\"}\nask: {endpoint: \"tcp://127.0.0.1:0\"}\n"
                               "http: {port: 0}\nlearn: {enabled: false}\nlog: {level: error}\n";
    REQUIRE(write_file_atomically(world.dir / "controller.yaml", config));
    for (std::size_t i = 0; i < 3; ++i)
      agents.push_back(std::make_unique<Agent>(world, i, i == 2 ? 64 << 10 : 64 << 20));
  }
  void start() {
    controller = std::make_unique<Child>(
        std::vector<std::string>{tests::bin_dir() + "/wattle-controller", "--config", world.dir / "controller.yaml"});
  }
  bool pump_until(const std::function<bool()>& done) {
    const MonoTime until = world.clock.mono() + kPatience;
    while (world.clock.mono() < until) {
      for (auto& agent : agents) agent->pump();
      if (done()) return true;
      transport::poll({}, {}, 2ms);
    }
    return false;
  }
  bool acknowledged(std::uint64_t records) const {
    std::uint64_t sum = 0;
    for (const auto& agent : agents) sum += agent->acked();
    return sum >= records;
  }
};

}  // namespace

TEST_CASE("a repeatedly killed controller stores each durable sample once and each dropped one in a gap") {
  Rig rig;
  std::mt19937 random(20240607);
  for (int kill = 0; kill < 5; ++kill) {
    rig.start();
    std::uint64_t received = 0;
    for (const auto& agent : rig.agents) received += agent->acked();
    // A random moment within the following transactions.
    const std::uint64_t until = received + 1 + random() % 120;
    REQUIRE(rig.pump_until([&] {
      for (auto& agent : rig.agents) agent->push(random() % 4);
      return rig.acknowledged(until);
    }));
    rig.controller->end(SIGKILL);
    // The controller is down: the small spool overflows.
    for (auto& agent : rig.agents) agent->push(random() % 100);
    rig.agents[2]->push(700);
    // Losses at the end of a run are not visible in the numbers of the next run.
    if (kill == 2) {
      rig.agents[2]->restart();
      rig.agents[2]->push(700);
    }
    if (kill == 1) rig.agents[0]->restart();
    if (kill == 3) rig.agents[1]->restart();
  }
  rig.start();
  for (auto& agent : rig.agents) agent->push(1);
  REQUIRE(rig.pump_until([&] {
    return std::all_of(rig.agents.begin(), rig.agents.end(), [](const auto& agent) { return agent->empty(); });
  }));
  rig.controller->end(SIGKILL);

  StoreFileOptions options;
  options.path = rig.world.dir / "store.db";
  auto file = StoreFile::open_(options);
  if (!file) FAIL(file.error().message());
  std::map<std::string, std::set<RecordMark>> there;
  const auto raw = StoreTables::raw(*file).value();
  for (const RawRecord& record : raw) CHECK(there[record.node].insert(record.mark).second);
  const auto nodes = StoreTables::nodes(*file).value();
  const auto ledger = StoreTables::ledger(*file).value();
  REQUIRE(nodes.size() == 3);
  CHECK(rig.agents[2]->dropped() > 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const Agent& agent = *rig.agents[i];
    const std::uint64_t kept = agent.pushed().size() - agent.dropped();
    INFO(agent.node());
    CHECK(there[agent.node()].size() == kept);
    CHECK(std::includes(agent.pushed().begin(), agent.pushed().end(), there[agent.node()].begin(),
                        there[agent.node()].end()));
    CHECK(nodes[i].records == static_cast<std::int64_t>(kept));
    CHECK(nodes[i].missing == static_cast<std::int64_t>(agent.dropped()));
    CHECK(nodes[i].energy_uj == static_cast<std::int64_t>(kept) * 100'000'000);
    std::int64_t pods_uj = 0;
    for (const LedgerRow& row : ledger)
      if (row.node == agent.node()) pods_uj += row.energy_uj;
    CHECK(pods_uj == static_cast<std::int64_t>(kept) * 5'000'000);
  }
  std::uint64_t gaps = 0;
  const auto found = file->gaps(10'000).value();
  for (const StoreGap& gap : found) {
    CHECK(gap.node == rig.agents[2]->node());
    gaps += gap.records();
  }
  CHECK(gaps == rig.agents[2]->dropped());
}
