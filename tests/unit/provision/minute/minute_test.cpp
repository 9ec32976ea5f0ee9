// minute: a minute of a service as a network's input, and the files of students.
#include "provision/minute/minute.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>

#include "common/digest.hpp"
#include "models/frozen/pretrained.hpp"
#include "models/frozen/safetensors.hpp"
#include "provision/minute/student_file.hpp"
#include "tests/unit/models/loud_weights.hpp"

namespace wattle::models::provision {
namespace {

// Half a core for thirty seconds and one and a half for thirty, of two granted; throttled in a tenth of the ticks.
ServiceMinute lived(MinuteWatch& watch, double scale = 1) {
  for (int i = 0; i < 600; ++i) {
    watch.add({scale * (i < 300 ? 0.05 : 0.15), 0.2, i % 10 == 0});
    watch.end_tick(0.1);
  }
  return watch.end_minute(Setting(), 8);
}

Safetensors student() {
  Safetensors model{wattle::test::loud_weights(), {}};
  model.metadata["provisioning"] = "student";
  model.metadata["layout"] = kLayout;
  model.metadata["network_sha256"] = network_digest(model.tensors);
  return model;
}

std::string refused(const Safetensors& model) {
  const auto parsed = parse_student(to_safetensors(model), "a.safetensors");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message().find("a.safetensors") != std::string::npos);
  return parsed.error().message();
}

TEST_CASE("a minute is reported without units: throttling, usage over the grant and over before, spread of seconds") {
  MinuteWatch watch;
  const ServiceMinute first = lived(watch);
  CHECK(first.throttled_ratio == doctest::Approx(0.1));
  CHECK(first.used_over_granted == doctest::Approx(0.5));
  CHECK(first.used_over_node == doctest::Approx(1.0 / 8));
  CHECK(first.deviation_ratio == doctest::Approx(0.5));
  CHECK(first.peak_ratio == doctest::Approx(1.5));
  CHECK(first.used_over_last == 1);
  CHECK(first.working_over_peak == 1);
  CHECK(lived(watch, 2).used_over_last == doctest::Approx(2));
  CHECK(watch.ticks() == 0);
}

TEST_CASE("copies of a service count together, and one that does not run only with its past usage and grant") {
  MinuteWatch watch;
  for (int i = 0; i < 600; ++i) {
    watch.add({0.05, 0.1, true, true, 0.5, 1});
    watch.add({0.05, 0.1, false, true, 0, 2});
    watch.add({0.1, 0.2, true, false, 1, 8});
    watch.end_tick(0.1);
  }
  CHECK(watch.ticks() == 1200);
  CHECK(watch.throttled() == 600);
  CHECK(watch.used_cores() == doctest::Approx(2));
  CHECK(watch.granted_cores() == doctest::Approx(4));
  Setting two;
  two.replicas = 2;
  const ServiceMinute state = watch.end_minute(two, 4);
  CHECK(state.missed_ratio == doctest::Approx(0.25));
  CHECK(state.used_over_node == doctest::Approx(0.25));
  CHECK_FALSE(watch.peak_gib());
  for (int i = 0; i < 9; ++i) watch.end_minute(two, 4);
  CHECK(watch.peak_gib() == 2);
  watch.end_minute(two, 4);
  CHECK(watch.peak_gib() == 0);
}

TEST_CASE("a minute without readings counts as a usual one, and each write adds a period to the granted amount") {
  MinuteWatch watch;
  const ServiceMinute state = watch.end_minute(Setting(), 4);
  CHECK(state.used_over_granted == 1);
  CHECK(state.peak_ratio == 1);
  CHECK(state.throttled_ratio == 0);
  for (const float value : observe(state, Bounds()).pod) CHECK(std::isfinite(value));
  CHECK(granted_s(1.5, 0.1, 0) == doctest::Approx(0.15));
  CHECK(granted_s(1.5, 0.1, 2) == doctest::Approx(0.45));
}

TEST_CASE("a student's decision on a node sees no latency, no rate and no time of day") {
  MinuteWatch watch;
  ServiceMinute state = lived(watch);
  const Observation without = local_view(state, 0.2, Bounds()).observation;
  state.latency = Latency{0.5, 3, 0.4};
  state.rate = Rate{2, 2, 0.5};
  state.day_ratio = 0.3;
  state.rule_margin_ratio = 3;
  const Observation with = local_view(state, 0.2, Bounds()).observation;
  CHECK(with.pod == without.pod);
  CHECK(with.context == without.context);
  CHECK(with.node == without.node);
  CHECK(with.prior == without.prior);
}

// A network trained on other inputs would otherwise be accepted.
TEST_CASE("the inputs match the layout's name; a change of inputs needs another name") {
  MinuteWatch watch;
  ServiceMinute state = lived(watch);
  state.now.margin_ratio = 0.3;
  state.latency = Latency{0.02, 1.2, 0.01};
  state.rate = Rate{1.1, 0.9, 0.2};
  const Observation seen = observe(state, Bounds());
  std::string text;
  const auto add = [&](const auto& values) {
    for (const float value : values) {
      std::array<char, 32> word{};
      std::snprintf(word.data(), word.size(), "%.3f ", static_cast<double>(value) + 0.0);
      text += word.data();
    }
  };
  // The last inputs describe decisions about pods; here they are 0.
  constexpr std::size_t kMinuteNodeFeatures = 32, kMinutePodFeatures = 16, kMinuteContextFeatures = 8;
  const auto known = [&](std::span<const float> values, std::size_t first) {
    add(values.first(first));
    for (const float value : values.subspan(first)) CHECK(value == 0);
  };
  for (std::size_t i = 0; i < kActions; ++i)
    known(std::span(seen.node).subspan(i * kNodeFeatures, kNodeFeatures), kMinuteNodeFeatures);
  known(seen.pod, kMinutePodFeatures);
  known(seen.context, kMinuteContextFeatures);
  add(seen.prior);
  CHECK(kLayout == "minute-1");
  CHECK(sha256_hex(text) == "821bd82fb7e915d9dfeb3166de94c93d00461505c029b1ef5fa20e8497318d1e");
}

TEST_CASE("a valid student file is read, and each invalid one is refused with its name and error") {
  const auto parsed = parse_student(to_safetensors(student()), "a.safetensors");
  REQUIRE(parsed);
  MinuteWatch watch;
  CHECK(choose_locally(lived(watch), 0.2, Bounds(), parsed->get()));

  for (const char* key : {"provisioning", "layout", "network_sha256"}) {
    Safetensors model = student();
    model.metadata.erase(key);
    CHECK(refused(model).find(key) != std::string::npos);
  }
  Safetensors model = student();
  model.metadata["provisioning"] = "teacher";
  CHECK(refused(model).find("teacher") != std::string::npos);
  model = student();
  model.metadata["layout"] = "minute-0";
  CHECK(refused(model).find("layout minute-0, but this version needs minute-1") != std::string::npos);
  model = student();
  model.tensors["ask.bias"].values[3] += 1;
  CHECK(refused(model).find("network_sha256") != std::string::npos);
  model = student();
  model.tensors["ask.bias"] = {{63}, std::vector<float>(63)};
  CHECK(refused(model).find("ask.bias has shape [63], not [64]") != std::string::npos);
  CHECK(parse_student("nothing", "a.safetensors").error().code == Errc::malformed);
  CHECK(read_student("/nowhere/a.safetensors").error().code == Errc::not_found);
}

class NanOutputNetwork final : public QNetwork {
 public:
  void residual(const Observation&, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
  }
  std::uint64_t step() const override { return 1; }
};

TEST_CASE("a network with invalid output makes no choice, and a file whose sums would overflow is refused") {
  MinuteWatch watch;
  const NanOutputNetwork network;
  CHECK_FALSE(choose_locally(lived(watch), 0.2, Bounds(), &network));
  Safetensors model = student();
  model.tensors["value.weight"].values[7] = -2e4F;
  model.metadata["network_sha256"] = network_digest(model.tensors);
  CHECK(refused(model).find("value.weight") != std::string::npos);
}

}  // namespace
}  // namespace wattle::models::provision
