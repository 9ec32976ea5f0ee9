// trace: files of servers and days, valid and invalid.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sim/scenarios/consolidation.hpp"
#include "sim/scenarios/demand_trace.hpp"
#include "sim/scenarios/gzip.hpp"

namespace wattle::sim::consolidation {
namespace {

// "wattle
// " compressed by gzip.
const std::string kPacked(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\x4f\x2c\x29\xc9\x49\xe5\x02\x00\x58\xd8\x96\x26\x07\x00\x00\x00", 27);

std::string line_of(const std::string& each, std::size_t n = kDaySamples) {
  std::string line;
  for (std::size_t i = 0; i < n; ++i) line += each + ",";
  return line + "\n";
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "wattle-demand-trace-test";
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

TEST_CASE("a line is one machine, with or without a comma at its end") {
  const auto day = parse_day(line_of("7") + "\n" + line_of("12.5").substr(0, 288 * 5 - 1) + "\n", "a/planetlab_1.csv");
  REQUIRE(day.has_value());
  CHECK(day->name == "planetlab_1.csv");
  REQUIRE(day->machines.size() == 2);
  CHECK(day->machines[0][287] == 7);
  CHECK(day->machines[1][0] == 12.5);
}

TEST_CASE("an invalid day names file, line and sample") {
  const auto message = [](const std::string& text) {
    const auto day = parse_day(text, "x/planetlab_2.csv");
    return day ? std::string() : day.error().message();
  };
  CHECK(message("").find("x/planetlab_2.csv: has no machines") != std::string::npos);
  CHECK(message(line_of("7") + line_of("7", 287)).find("line 2 has 287 samples, not 288") != std::string::npos);
  CHECK(message("101," + line_of("7", 287)).find("line 1, sample 1 is not a percentage") != std::string::npos);
  CHECK(message("7,nan," + line_of("7", 286)).find("line 1, sample 2") != std::string::npos);
  CHECK(message("-1," + line_of("7", 287)).find("line 1, sample 1") != std::string::npos);
}

TEST_CASE("gzip is decompressed; a truncated, damaged, oversized or continued file is refused by name") {
  CHECK(gunzip(kPacked, "f.gz", 100).value() == "wattle\n");
  for (std::size_t n = 0; n < kPacked.size(); ++n) {
    const auto cut = gunzip(std::string_view(kPacked).substr(0, n), "f.gz", 100);
    REQUIRE_FALSE(cut.has_value());
    CHECK(cut.error().subject == "f.gz");
    CHECK(cut.error().code == Errc::malformed);
  }
  std::string damaged = kPacked;
  damaged[20] = '\x55';  // in the checksum
  CHECK(gunzip(damaged, "f.gz", 100).error().what == "is not gzip, or is damaged");
  CHECK(gunzip(kPacked + "x", "f.gz", 100).error().what == "contains data after its end");
  CHECK(gunzip(kPacked, "f.gz", 3).error().code == Errc::out_of_range);
}

TEST_CASE("a folder of traces is split: no server and no day is on both sides") {
  const Folder folder;
  std::string servers =
      "cores,memory_gb,watts_0,watts_10,watts_20,watts_30,watts_40,watts_50,watts_60,watts_70,watts_80,"
      "watts_90,watts_100\n";
  for (int i = 1; i <= 6; ++i) {
    servers += std::to_string(8 + i) + ",32";
    for (int k = 0; k <= 10; ++k) servers += "," + std::to_string(50 + 10 * k);
    servers += "\n";
  }
  CHECK(load_dataset(folder.path.string(), 3).error().code == Errc::not_found);
  folder.write("server_power_curves.csv", servers);
  CHECK(load_dataset(folder.path.string(), 3).error().what == "has no planetlab_*.csv or planetlab_*.csv.gz");
  folder.write("planetlab_1.csv", line_of("10"));
  CHECK(load_dataset(folder.path.string(), 3).error().code == Errc::out_of_range);
  folder.write("planetlab_2.csv", line_of("50"));
  folder.write("notes.txt", "no trace");
  const auto data = load_dataset(folder.path.string(), 3);
  REQUIRE(data.has_value());
  CHECK(data->train_servers.size() == 3);
  CHECK(data->report_servers.size() == 3);
  CHECK(data->report_servers[0].cores == 10);
  REQUIRE(data->train_days.size() == 1);
  REQUIRE(data->report_days.size() == 1);
  CHECK(data->train_days[0].mean_cores[0] == doctest::Approx(0.3));
  CHECK(data->report_days[0].mean_cores[0] == doctest::Approx(1.0));  // 3 x 50% is limited to the request
  folder.write("planetlab_3.csv.gz", "no gzip");
  CHECK(load_dataset(folder.path.string(), 3).error().subject.find("planetlab_3.csv.gz") != std::string::npos);
}

TEST_CASE("a synthetic day is reproducible by seed, in percent, and machines differ") {
  const DemandDay a = synthetic_day(50, 3), b = synthetic_day(50, 3), c = synthetic_day(50, 4);
  CHECK(a.machines == b.machines);
  CHECK(a.machines != c.machines);
  double low = 100, high = 0;
  for (const auto& machine : a.machines) {
    double sum = 0;
    for (const float percent : machine) {
      REQUIRE(percent >= 0);
      REQUIRE(percent <= 100);
      sum += static_cast<double>(percent);
    }
    low = std::min(low, sum / kDaySamples);
    high = std::max(high, sum / kDaySamples);
  }
  CHECK(high > 4 * low);
}

}  // namespace
}  // namespace wattle::sim::consolidation
