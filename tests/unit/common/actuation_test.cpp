#include "common/actuation.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace wattle;
using namespace wattle::actuation;

TEST_CASE("orders and reports survive a round trip") {
  const Orders orders{1.25, {{"/system.slice/a b.service", Level::limits, Requests{1200, 34}}, {"/x", Level::off}}};
  CHECK(to_text(orders) == "orders 1 1250\nlimits:1200/34 /system.slice/a b.service\noff /x\n");
  CHECK(*parse_orders(to_text(orders)) == orders);
  CHECK(*parse_orders(to_text(Orders{})) == Orders{});
  const Orders powered{std::nullopt, {}, 4.25};
  CHECK(to_text(powered) == "orders 1 - 4250\n");
  CHECK(*parse_orders(to_text(powered)) == powered);
  Report report;
  report.headroom_cores = 0.5;
  report.foreign = 3;
  report.grants.push_back({"/a", Level::limits, State::set, 0.25, 0.5, std::nullopt, std::int64_t{4096}, 7});
  report.grants.push_back({"/b c", Level::suggest, State::hands_off, 0, std::nullopt, 1.5, std::nullopt, 0});
  CHECK(*parse_report(to_text(report)) == report);
  report.grants[0].low = Protection{8192, 0};
  report.grants[1].low = Protection{4096, 4096};
  CHECK(*parse_report(to_text(report)) == report);
  report.core_power_w = 4.25;
  CHECK(to_text(report).starts_with("report 1 500 3 4250\n"));
  CHECK(*parse_report(to_text(report)) == report);
  report.student_out = 2;
  CHECK(to_text(report).starts_with("report 1 500 3 4250 2\n"));
  CHECK(*parse_report(to_text(report)) == report);
  report.core_power_w.reset();
  CHECK(to_text(report).starts_with("report 1 500 3 - 2\n"));
  CHECK(*parse_report(to_text(report)) == report);
  for (const char* odd : {"report 1 500 3 - x\n", "report 1 500 3 - -1\n", "report 1 500 3 - 2 3\n"})
    CHECK_FALSE(parse_report(odd));
}

TEST_CASE("a minute and its next step survive a round trip") {
  Orders orders;
  orders.orders.push_back({"/a b", Level::limits, Requests{1200, 34}, MarginStep{17, 0.9 * 1.04 * 1.04 - 1}});
  orders.orders.push_back({"/c", Level::limits, std::nullopt, MarginStep{0, 4}});
  CHECK(to_text(orders) == "orders 1 -\nlimits:1200/34@17/973440000 /a b\nlimits@0/5000000000 /c\n");
  const auto received = parse_orders(to_text(orders));
  REQUIRE(received);
  CHECK(received->orders[0].step->minute == 17);
  CHECK(received->orders[0].step->margin_ratio == doctest::Approx(0.9 * 1.04 * 1.04 - 1).epsilon(1e-9));
  Report report;
  report.grants.push_back({"/a", Level::limits, State::set, 0.25, 0.5, std::nullopt, std::nullopt, 7,
                           Minute{3, true, 0.25, -0.0625, 0.5, 1.5, 2, 0.125, 1.75, Requests{100, 2}}});
  report.grants.push_back(
      {"/b", Level::limits, State::set, 0, 0.5, std::nullopt, std::nullopt, 0, Minute{1, false, 0, 0, 0, 0, 0, 0, 1}});
  CHECK(*parse_report(to_text(report)) == report);
  for (const char* word : {"limits@1/1/0", "limits@1/1/", "limits@1/1/1/1", "limits@", "limits@1", "limits@1/0",
                           "limits@1/-5", "limits@x/1000000000", "limits@1/1:5/1"})
    CHECK_FALSE(parse_orders("orders 1 -\n" + std::string(word) + " /a\n"));
  for (const char* word :
       {"0:", "0:1", "0:1/2/1/1/1/1/1/1/1", "0:1/1/1/1/1/1/1/1", "0:1/1/1/1/1/1/1/1/1/5", "0:1/1/1/1/1/1/1/1/1/5/6"})
    CHECK_FALSE(parse_report("report 1 - 0\nlimits set 0 - - - " + std::string(word) + " /a\n"));
}

TEST_CASE("a minute and a step have memory if it is known; lines for an older reader do not change") {
  Orders orders;
  orders.orders.push_back({"/a", Level::limits, std::nullopt, MarginStep{17, 0.25, 0.0625}});
  CHECK(to_text(orders) == "orders 1 -\nlimits@17/1250000000/1062500000 /a\n");
  CHECK(*parse_orders(to_text(orders)) == orders);
  orders.memory = true;
  CHECK(to_text(orders) == "orders 1 -\noff +memory\nlimits@17/1250000000/1062500000 /a\n");
  CHECK(*parse_orders(to_text(orders)) == orders);
  orders.orders.resize(300, orders.orders[0]);
  CHECK(parse_orders(to_text(orders))->orders.size() == kMaxWorkloads - 1);
  Minute minute{3, true, 0.25, -0.0625, 0.5, 1.5, 2, 0.125, 1.75};
  const MinuteOfMemory limited{0.25, 4096, 2048, 0.5, 0.125}, free{std::nullopt, 1, 0, 1, 0};
  for (const auto& requests : {std::optional<Requests>(), std::optional(Requests{100, 2})})
    for (const auto& memory : {std::optional<MinuteOfMemory>(), std::optional(limited), std::optional(free)})
      for (const bool out : {false, true}) {
        minute.requests = requests;
        minute.memory = memory;
        minute.student_out = out;
        Report report;
        report.grants.push_back({"/a", Level::limits, State::set, 0.25, 0.5, std::nullopt, std::nullopt, 7, minute});
        CHECK(*parse_report(to_text(report)) == report);
      }
  for (const char* tail :
       {"m", "m/", "m/1/1/1/1", "m/0/1/1/1/1", "m/-/1/1/1/1/1", "m/-/x/1/1/1", "o/o", "x", "5/m/-/1/1/1/1"})
    CHECK_FALSE(parse_report("report 1 - 0\nlimits set 0 - - - 0:1/1/1/1/1/1/1/1/1/" + std::string(tail) + " /a\n"));
}

// Recorded between both programs of commit fd85b54, whose minutes had no memory.
TEST_CASE("messages of the previous version of agent and actuator are read, and written back unchanged") {
  const std::string ordered = "orders 1 0\nlimits:3001/30 /recorded.service\n";
  const auto orders = parse_orders(ordered);
  REQUIRE(orders);
  CHECK_FALSE(orders->memory);  // so that the agent gets no memory fields
  CHECK(orders->orders == std::vector<Order>{{"/recorded.service", Level::limits, Requests{3001, 30}}});
  CHECK(to_text(*orders) == ordered);
  const std::string reported =
      "report 1 0 0\nlimits set 30 50 - - 1:1/0/1150000000/1219966678/0/32247044/50083195/77530396/1135705103/3001/30 "
      "/recorded.service\n";
  const auto report = parse_report(reported);
  REQUIRE(report);
  REQUIRE(report->grants.size() == 1);
  const auto& minute = report->grants[0].minute;
  REQUIRE(minute);
  CHECK(minute->margin_ratio == doctest::Approx(0.15));
  CHECK(minute->requests == Requests{3001, 30});
  CHECK_FALSE(minute->memory);
  CHECK_FALSE(minute->student_out);
  CHECK(to_text(*report) == reported);
}

TEST_CASE("an invalid message is refused with the reason") {
  for (const char* text :
       {"", "orders", "orders 1\n", "orders 2 -\n", "report 1 - 0\n", "orders 1 x\n", "orders 1 - - -\n",
        "orders 1 - x\n", "orders 1 -\nlimits /a", "orders 1 -\nmost /a\n", "orders 1 -\nlimits\n",
        "orders 1 -\nlimits: /a\n", "orders 1 -\nlimits:5 /a\n", "orders 1 -\nlimits:5/6 /a\n",
        "orders 1 -\nlimits:5/-1 /a\n", "orders 1 -\nlimits:5/1/1 /a\n", "orders 1 -\n\n", "orders 1 99999999999\n",
        "orders 1 -1\n"}) {
    INFO(text);
    const auto parsed = parse_orders(text);
    REQUIRE_FALSE(parsed);
    CHECK_FALSE(parsed.error().fix.empty());
  }
  for (const char* line :
       {"limits set - - - - 0 /a", "limits set 1 - - -5 0 /a", "limits set 1 - - - x /a", "limits none 1 - - - 0 /a",
        "limits set 1 - - - 0", "protect set 1 - - -+ 0 /a", "protect set 1 - - -+5 0 /a",
        "protect set 1 - - -+4/5 0 /a", "protect set 1 - - -+-5/-5 0 /a"})
    CHECK_FALSE(parse_report("report 1 - 0\n" + std::string(line) + "\n"));
}

TEST_CASE("messages are bounded in both directions") {
  Orders many;
  for (int i = 0; i < 300; ++i) many.orders.push_back({"/w" + std::to_string(i), Level::suggest});
  CHECK(parse_orders(to_text(many))->orders.size() == kMaxWorkloads);
  Orders large;
  for (int i = 0; i < 100; ++i) large.orders.push_back({"/" + std::string(4'000, 'a'), Level::suggest});
  CHECK(to_text(large).size() <= kMaxMessageBytes);
  CHECK(parse_orders(to_text(large)));
  std::string more = "orders 1 -\n";
  for (int i = 0; i < 257; ++i) more += "off /a\n";
  CHECK(parse_orders(more).error().code == Errc::out_of_range);
  CHECK(parse_orders(std::string(kMaxMessageBytes + 1, 'x')).error().code == Errc::out_of_range);
  CHECK(to_text(Orders{std::nullopt, {{"/a\nlimits /b", Level::limits}}}) == "orders 1 -\n");
}

TEST_CASE("any bytes are a message or refused, and a message is written as it was read") {
  std::mt19937_64 random(5);
  const std::string seed =
      "orders 1 1250 4250\noff +memory\nprotect /p\nlimits:1200/34@5/1040000000/1150000000 /system.slice/a "
      "b.service\noff /x\n";
  const std::string reported =
      "report 1 500 3 4250\nlimits set 250 500 - 4096+8192/4096 "
      "7:2/1/1100000000/1150000000/0/250000000/500000000/0/1000000000/10/1/m/1150000000/4096/2048/500000000/0/o "
      "/a\nsuggest hands_off 0 - 1500 - 0 /b c\n";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = i % 2 == 0 ? seed : reported;
    for (auto flips = random() % 4; flips > 0; --flips) text[random() % text.size()] = static_cast<char>(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    if (const auto orders = parse_orders(text)) CHECK(*parse_orders(to_text(*orders)) == *orders);
    if (const auto report = parse_report(text)) CHECK(*parse_report(to_text(*report)) == *report);
  }
}
