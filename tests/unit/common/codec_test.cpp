#include "common/wire/codec.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace wattle;
using namespace wattle::wire;

TEST_CASE("a samples message survives a round trip") {
  Record record;
  record.incarnation = 3;
  record.seq = 7;
  record.node.cpu_used_cores = 1.5;
  record.node.energy_source = EnergySource::rapl;
  record.node.energy_uj = 123456789ULL;
  record.node.domains = {{"package-0", 123456789ULL, false}};
  WorkloadValues pod;
  pod.cgroup_id = 0xFFFFFFFFFFFFFFFFULL;
  pod.kind = WorkloadKind::pod;
  pod.name = "0f0e";
  pod.pressure.cpu_some_ratio = 0.25;
  record.workloads.push_back(pod);
  record.probes.push_back({"default", 1.5, std::nullopt, 0.1, 0.5, 10});

  const auto back = decode(encode(Samples{{record}}));
  REQUIRE(back);
  const auto& got = std::get<Samples>(*back).records.at(0);
  CHECK(got.seq == 7);
  CHECK(got.node.cpu_used_cores == 1.5);
  CHECK_FALSE(got.node.memory_used_bytes.has_value());
  CHECK(got.node.energy_source == EnergySource::rapl);
  CHECK(got.workloads.at(0).cgroup_id == 0xFFFFFFFFFFFFFFFFULL);
  CHECK(got.workloads.at(0).pressure.cpu_some_ratio == 0.25);
  CHECK_FALSE(got.probes.at(0).p95_ms.has_value());
}

TEST_CASE("a number that is not finite is refused by its path") {
  Record record;
  record.node.cpu_used_cores = std::nan("");
  const auto back = decode(encode(Samples{{Record{}, record}}));
  REQUIRE_FALSE(back);
  CHECK(back.error().subject == "samples.records[1].node.cpu_used_cores");
}

TEST_CASE("a header that announces more than the message has is refused without allocating") {
  const std::string bytes("\xdd\xff\xff\xff\xff", 5);
  CHECK_FALSE(decode(bytes));
}

TEST_CASE("an older, shorter message keeps defaults, and known fields of a newer, longer one are read") {
  // [1, ack, 5]  and  [9, ack, 5, 6, 7, {}, {}, 0, [], 0, "new"]
  const auto older = decode(std::string("\x93\x01\x04\x05", 4));
  REQUIRE(older);
  CHECK(std::get<Ack>(*older).incarnation == 5);
  CHECK(std::get<Ack>(*older).credit == 0);
  const auto newer = decode(std::string("\x9b\x09\x04\x05\x06\x07\x80\x80\x00\x90\x00\xa3new", 15));
  REQUIRE(newer);
  CHECK(std::get<Ack>(*newer).credit == 7);
}
