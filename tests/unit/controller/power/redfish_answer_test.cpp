#include "controller/power/redfish_answer.hpp"

#include <doctest/doctest.h>

using namespace wattle::controller::power;
using wattle::Errc;

namespace {

constexpr const char* kSystem = R"({
  "@odata.id": "/redfish/v1/Systems/1", "PowerState": "On",
  "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
    "ResetType@Redfish.AllowableValues": ["On", "GracefulShutdown"]}},
  "Links": {"Chassis": [{"@odata.id": "/redfish/v1/Chassis/1"}]}})";

}  // namespace

TEST_CASE("a system has a state, ways to reset it, and a chassis") {
  const auto system = parse_system(kSystem, "bmc");
  REQUIRE(system);
  CHECK(system->state == PowerState::on);
  CHECK(system->reset_target == "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset");
  CHECK(system->reset_types == std::vector<std::string>{"On", "GracefulShutdown"});
  CHECK(system->chassis == std::vector<std::string>{"/redfish/v1/Chassis/1"});
}

TEST_CASE("a system in transition has an unknown state and reports its direction") {
  CHECK(parse_system(R"({"PowerState": "Off"})", "bmc")->state == PowerState::off);
  const auto starting = parse_system(R"({"PowerState": "PoweringOn"})", "bmc");
  CHECK(starting->state == PowerState::unknown);
  CHECK(starting->turning_on);
  CHECK(parse_system(R"({"PowerState": "PoweringOff"})", "bmc")->turning_off);
  CHECK(parse_system(R"({"PowerState": "Paused"})", "bmc")->state == PowerState::unknown);
}

TEST_CASE("one system is found, and several must be named") {
  CHECK(*parse_only_member(R"({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]})", "bmc") ==
        "/redfish/v1/Systems/1");
  const auto two = parse_only_member(
      R"({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "/redfish/v1/Systems/2"}]})", "bmc");
  CHECK(two.error().code == Errc::conflict);
  CHECK(two.error().fix.find("/redfish/v1/Systems/1") != std::string::npos);
  CHECK(parse_only_member(R"({"Members": []})", "bmc").error().code == Errc::not_found);
}

TEST_CASE("a link to another host, or one that breaks the request, is not a path") {
  CHECK(is_redfish_path("/redfish/v1/Systems/437XR1138R2"));
  for (const std::string path :
       {"", "redfish/v1", "/", "/etc/passwd", "http://elsewhere.example/redfish/v1", "//elsewhere.example/redfish/v1",
        "/redfish//elsewhere.example", "/redfish/v1/../../x", "/redfish/v1/a b", "/redfish/v1\r\nHost: elsewhere",
        "/redfish/v1/\xc3\xa9", "/redfish/v1?a=b", "/redfish/v1#a"}) {
    CAPTURE(path);
    CHECK_FALSE(is_redfish_path(path));
  }
  CHECK_FALSE(is_redfish_path("/redfish/" + std::string(1000, 'a')));
  const char* away =
      R"({"PowerState": "On", "Actions": {"#ComputerSystem.Reset": {"target": "http://other.example/x"}}})";
  CHECK(parse_system(away, "bmc").error().code == Errc::malformed);
  CHECK_FALSE(parse_only_member(R"({"Members": [{"@odata.id": "//other.example/redfish/v1/Systems/1"}]})", "bmc"));
}

TEST_CASE("watts are parsed from both schemas, within their range") {
  CHECK(parse_power_w(R"({"PowerWatts": {"Reading": 321.5}})") == 321.5);
  CHECK(parse_power_w(R"({"PowerControl": [{"PowerConsumedWatts": 344}]})") == 344.0);
  for (const char* text :
       {"", "{}", "[]", R"({"PowerWatts": {"Reading": null}})", R"({"PowerWatts": 7})", R"({"PowerControl": {}})",
        R"({"PowerControl": []})", R"({"PowerControl": [7]})", R"({"PowerControl": [{"PowerConsumedWatts": -1}]})",
        R"({"PowerControl": [{"PowerConsumedWatts": "344"}]})", R"({"PowerWatts": {"Reading": 1e9}})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_power_w(text));
  }
}

TEST_CASE("a chassis names its meters and the systems in it") {
  const auto chassis = parse_chassis(R"({"Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"},
    "EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1/EnvironmentMetrics"},
    "Links": {"ComputerSystems": [{}, {}]}})",
                                     "bmc");
  REQUIRE(chassis);
  CHECK(chassis->power == "/redfish/v1/Chassis/1/Power");
  CHECK(chassis->environment == "/redfish/v1/Chassis/1/EnvironmentMetrics");
  CHECK(chassis->systems == 2);
}

TEST_CASE("reset types are also parsed from an ActionInfo") {
  CHECK(*parse_reset_info(R"({"Parameters": [{"Name": "ResetType", "AllowableValues": ["On", 7]}]})", "bmc") ==
        std::vector<std::string>{"On"});
  CHECK_FALSE(parse_reset_info("{}", "bmc"));
}

TEST_CASE("the messages of an error are extracted") {
  CHECK(parse_messages(R"({"error": {"message": "general", "@Message.ExtendedInfo": [{"Message": "the cause"}]}})") ==
        "the cause");
  CHECK(parse_messages(R"({"error": {"message": "general"}})") == "general");
  CHECK(parse_messages("<html>").empty());
  CHECK(parse_messages(R"({"error": "text"})").empty());
}

TEST_CASE("hostile bodies are refused: too large, too deep, or of another type") {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  CHECK(parse_system(deep, "bmc").error().code == Errc::out_of_range);
  CHECK(parse_system("{\"a\": \"" + std::string(kMostRedfishBytes, 'a') + "\"}", "bmc").error().code ==
        Errc::out_of_range);
  std::string links;
  for (int i = 0; i < 1000; ++i) links += R"({"@odata.id": "/redfish/v1/Systems/1"},)";
  CHECK(parse_only_member("{\"Members\": [" + links + "{}]}", "bmc").error().code == Errc::out_of_range);
  for (const char* text : {"", "null", "7", "[]", "\"On\"", "{}", "{\"PowerState\": 7}", "{\"PowerState\":", "\xff"}) {
    CAPTURE(text);
    const auto system = parse_system(text, "bmc");
    REQUIRE_FALSE(system);
    CHECK(system.error().subject == "bmc");
    CHECK_FALSE(parse_reset_info(text, "bmc"));
  }
}
