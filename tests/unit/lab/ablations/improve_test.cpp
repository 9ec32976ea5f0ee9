// Recorded days: parsing, calibration of the cluster's model with measurements, labels in shards, and promotion.
#include "sim/improve/improve.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "sim/improve/imitate.hpp"
#include "sim/improve/label_shards.hpp"
#include "tests/unit/lab/ablations/lived_record.hpp"
#include "tests/unit/sim/improve/cluster_record.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

using testing::idle_w;
using testing::MadeRecord;
using testing::record_of;
using testing::record_text;

ImproveOptions short_days() {
  ImproveOptions options;
  options.days.day_s = 2 * 3600;
  options.hindsight.labels.per_episode = 9;
  options.hindsight.labels.listed = true;
  options.hindsight.imitate.epochs = 1;
  options.hindsight.plays = 2;
  return options;
}

Network untaught() {
  return std::shared_ptr<const models::QNetwork>(
      models::FrozenNetwork::from_weights(models::initial_weights(1), 0).value());
}

CalibratedDays days_in(const ClusterRecord& record, const ImproveOptions& options) {
  auto days = calibrated_days(record, options, "record");
  if (!days) FAIL(days.error().message());
  return std::move(*days);
}

// The weights never change.
class Unmoved final : public models::PolicyTrainer {
 public:
  Result<models::StepStats> step(std::span<const models::Transition* const>) override { return models::StepStats{}; }
  Result<models::PolicyStats> imitate(std::span<const models::PolicyExample* const> batch, double) override {
    examples += batch.size();
    return models::PolicyStats{};
  }
  std::uint64_t steps() const override { return 0; }
  models::Weights weights() const override { return models::initial_weights(1); }
  models::Weights checkpoint() const override { return weights(); }
  Status restore(const models::Weights&) override { return {}; }
  std::size_t examples = 0;
};

LabelShard shard_of(const CalibratedDays& days, const LabelOptions& asked, std::size_t shard, std::size_t shards) {
  LabelShard out{"question", shard, shards, 0, {}};
  LabelOptions options = asked;
  options.shard = shard;
  options.shards = shards;
  for (std::size_t day = 0; day < days.learned; ++day, ++out.days_done)
    for (Label& label : judge_day(days, day, options, untaught())) {
      label.order += day * options.per_episode;
      out.labels.push_back(std::move(label));
    }
  auto read = parse_label_shard(to_file(out), "shard");  // as read from its file
  REQUIRE(read);
  return std::move(*read);
}

std::string bytes_of(const std::vector<Label>& labels) { return models::to_safetensors({to_tensors(labels), {}}); }

TEST_CASE("a record is read as it was written, and its days have the pods that ran in them") {
  const ClusterRecord record = record_of({});
  REQUIRE(record.nodes.size() == 3);
  CHECK(record.apps.size() == 4);
  CHECK(record.nodes[1].watts[0] == idle_w(1));
  CHECK(record.hours.size() == 8);
  const CalibratedDays days = days_in(record, short_days());
  REQUIRE(days.recorded.days.size() >= 3);
  CHECK(days.learned == days.recorded.days.size() - 1);
  for (const RecordedDay& day : days.recorded.days) {
    const Episode& episode = day.episode;
    std::size_t ran = 0;
    for (const RecordedPod& pod : record.pods)
      if (pod.placed_s < day.from_s + 7200 && pod.ended_s > day.from_s) ++ran;
    CHECK(episode.pods.size() == ran);
    CHECK(day.node_of.size() == ran);
    CHECK(std::is_sorted(episode.pods.begin(), episode.pods.end(),
                         [](const Pod& a, const Pod& b) { return a.arrives_s < b.arrives_s; }));
    CHECK(episode.pods.front().arrives_s >= 0);
    CHECK(episode.mean_request.cpu_cores == doctest::Approx(1));
    for (const Pod& pod : episode.pods) {
      CHECK(episode.day->mean_cores[pod.machine] ==
            doctest::Approx(0.1 + 0.2 * std::stod(episode.apps[pod.app].image.substr(6))));
      CHECK(pod.life_s > 0);
    }
  }
}

TEST_CASE("an invalid record is refused with its line") {
  const std::string good = record_text({});
  CHECK(parse_cluster_record("", "f").error().message().find("is empty") != std::string::npos);
  CHECK(parse_cluster_record("{\"wattle_record\": 2}\n", "f").error().message().find("line 1") != std::string::npos);
  CHECK(parse_cluster_record(good + "{\"pods\": {}}\n", "f").error().code == Errc::malformed);
  CHECK(parse_cluster_record(good + "[[[[[[[[", "f").error().code == Errc::malformed);
  CHECK(parse_cluster_record(good + "{\"wishes\": {}}\n", "f").error().message().find("wishes") != std::string::npos);
  CHECK(parse_cluster_record(good.substr(0, good.find('\n') + 1), "f").error().code == Errc::out_of_range);
  MadeRecord brief;
  brief.hours = 3;
  CHECK(calibrated_days(record_of(brief), short_days(), "f").error().code == Errc::out_of_range);
}

TEST_CASE("curves are scaled to the measurement of training days, and the error on other days is reported") {
  MadeRecord made;
  made.hours = 16;
  made.idle_times = 2;
  ImproveOptions options = short_days();
  const CalibratedDays right = days_in(record_of(made), options);
  const auto begins = static_cast<double>(right.learned * 2);
  CHECK(right.calibration.node_ratio[2] == doctest::Approx(2).epsilon(1e-6));
  CHECK(right.calibration.node_ratio[0] == 1);  // no measurement there
  CHECK(right.calibration.node_error == doctest::Approx(0).epsilon(1e-6));
  CHECK(right.recorded.days.front().episode.servers[2].watts[0] == doctest::Approx(2 * idle_w(2)).epsilon(1e-6));
  // In the judging days it draws a tenth more than before.
  made.later_h = (right.recorded.days.front().from_s - made.from_s) / 3600 + begins;
  made.later_times = 2.2;
  const CalibratedDays off = days_in(record_of(made), options);
  CHECK(off.calibration.node_ratio[2] == doctest::Approx(2).epsilon(1e-6));
  CHECK(off.calibration.node_error == doctest::Approx(0.2 / 2.2).epsilon(1e-6));
}

TEST_CASE("simulated days are restored from their record, and differing watts change the energy") {
  Options options;
  options.nodes = 4;
  options.churn = true;
  options.life_s = 1800;
  options.warm_s = 3600;
  options.measure_s = 5 * 3600;
  options.cluster_seed = 5;
  const std::vector<Episode> lived{make_episode(data(), options, 5000), make_episode(data(), options, 5002)};
  const std::vector<double> measured_times{2.5, 0.4, 0.4, 2.5};  // relative to the reported watts
  const auto read = parse_cluster_record(lived_record(lived, measured_times), "record");
  REQUIRE(read);
  CHECK(read->nodes.size() == 4);
  CHECK(read->pods.size() == lived[0].pods.size() + lived[1].pods.size());
  CHECK(read->hours.size() == 4 * 12);
  const CalibratedDays days = days_in(*read, short_days());
  CHECK(days.recorded.days.size() >= 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(days.calibration.node_ratio[i] == doctest::Approx(measured_times[i]).epsilon(0.05));
  CHECK(days.calibration.node_error < 0.05);
}

TEST_CASE("an interval is widened by the unexplained share of the energy that moved between nodes") {
  const PlayedDays a{{100, 100}, {{40, 60}, {40, 60}}}, b{{102, 102}, {{60, 42}, {60, 42}}};
  const Interval reported{-0.02, -0.025, -0.015};
  const Interval same = widened(reported, a, b, 0);
  CHECK(same.low == doctest::Approx(reported.low));
  CHECK(same.high == doctest::Approx(reported.high));
  const double more = 1.96 * 0.05 * std::hypot(40, 36) / 204;
  const Interval wide = widened(reported, a, b, 0.05);
  CHECK(wide.mean == reported.mean);
  CHECK(wide.high == doctest::Approx(reported.mean + std::hypot(0.005, more)));
  CHECK_FALSE(wide.below_zero());
  CHECK(widened(reported, b, b, 0.05).high == doctest::Approx(reported.high));  // no energy was moved
}

TEST_CASE("labels of one process and of eight are the same, bit by bit") {
  const ImproveOptions options = short_days();
  const CalibratedDays days = days_in(record_of({}), options);
  const auto alone = merged({shard_of(days, options.hindsight.labels, 0, 1)}, days.learned, "work");
  REQUIRE(alone);
  REQUIRE(alone->size() > 8);
  std::vector<LabelShard> eight;
  for (const std::size_t shard : {3U, 1U, 7U, 0U, 2U, 5U, 4U, 6U})
    eight.push_back(shard_of(days, options.hindsight.labels, shard, 8));
  std::vector<LabelShard> seven(eight.begin(), eight.end() - 1);
  std::vector<LabelShard> unfinished = eight;
  --unfinished[2].days_done;
  std::vector<LabelShard> others = eight;
  others[4].question = "another";
  const auto together = merged(std::move(eight), days.learned, "work");
  REQUIRE(together);
  CHECK(bytes_of(*together) == bytes_of(*alone));
  CHECK(merged(std::move(seven), days.learned, "work").error().message().find("labels-6-of-8") != std::string::npos);
  CHECK(merged(std::move(unfinished), days.learned, "work").error().message().find("labels-7-of-8") !=
        std::string::npos);
  CHECK(merged(std::move(others), days.learned, "work").error().code == Errc::conflict);
  CHECK(merged({}, days.learned, "work").error().code == Errc::not_found);
}

TEST_CASE("an unchanged network is not kept, and all labels are used") {
  const ImproveOptions options = short_days();
  const CalibratedDays days = days_in(record_of({}), options);
  std::vector<Label> labels;
  for (std::size_t day = 0; day < days.learned; ++day)
    for (Label& label : judge_day(days, day, options.hindsight.labels, untaught())) labels.push_back(std::move(label));
  Unmoved trainer;
  const auto found = improve(days, labels, untaught(), options.hindsight, trainer);
  REQUIRE(found);
  CHECK(trainer.examples == labels.size());
  CHECK(found->labels == labels.size());
  CHECK(found->passes == 0);
  CHECK_FALSE(found->kept());
  CHECK(found->learned_over_start.mean == doctest::Approx(0));
}

TEST_CASE("too few recorded days give no interval, and of ten days five judge") {
  ImproveOptions options = short_days();
  options.hindsight.plays = 12;
  options.hindsight.labels.per_episode = 1;
  Unmoved trainer;
  const CalibratedDays few = days_in(record_of({}), options);
  const auto unknown = improve(few, {}, untaught(), options.hindsight, trainer);
  REQUIRE(unknown);
  CHECK(unknown->plays == 12);
  CHECK(unknown->judged_days < 5);
  for (const Interval& each : {unknown->learned_over_start, unknown->learned_over_planner, unknown->start_over_planner})
    CHECK_FALSE(each.known());
  MadeRecord longer;
  longer.hours = 22;
  const CalibratedDays ten = days_in(record_of(longer), options);
  REQUIRE(ten.recorded.days.size() >= 10);
  const auto known = improve(ten, {}, untaught(), options.hindsight, trainer);
  REQUIRE(known);
  CHECK(known->judged_days == 5);
  CHECK(known->start_over_planner.known());
}

}  // namespace
}  // namespace wattle::sim::consolidation
