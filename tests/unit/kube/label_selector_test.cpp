#include "common/kube/label_selector.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using wattle::kube::LabelSelector;

namespace {
bool selects(const std::string& text, const std::map<std::string, std::string>& labels) {
  const auto parsed = LabelSelector::parse(text, "argument selector");
  REQUIRE_MESSAGE(parsed.has_value(), text);
  return parsed->matches(labels);
}
const std::map<std::string, std::string> kLabels{{"zone", "a"}, {"node.kubernetes.io/type", "m5"}, {"gpu", ""}};
}  // namespace

TEST_CASE("each requirement of kubectl's notation matches as documented") {
  for (const char* text :
       {"", " ", "zone=a", "zone==a", "zone = a", "zone", "!arm", "gpu=", "zone!=b", "arm!=x", "zone in (a, b)",
        "zone notin (b)", "arm notin (b)", "zone in (b,a),gpu", "node.kubernetes.io/type=m5,!arm"}) {
    CAPTURE(text);
    CHECK(selects(text, kLabels));
  }
  for (const char* text :
       {"zone=b", "!zone", "arm", "zone!=a", "zone in (b,c)", "zone notin (a)", "zone=a,arm", "arm=", "arm in (x)"}) {
    CAPTURE(text);
    CHECK_FALSE(selects(text, kLabels));
  }
}

TEST_CASE("an error names the requirement") {
  for (const char* text :
       {"=a", "zone=a,", "zone in a", "zone in (a", "zone of (a)", "zo ne", "zone=a b", "!", ",", "z\x1b=a"}) {
    CAPTURE(text);
    const auto parsed = LabelSelector::parse(text, "argument selector");
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().message().find("argument selector") != std::string::npos);
    CHECK(parsed.error().fix.find("zone in (a, b)") != std::string::npos);
  }
}

TEST_CASE("greater and less compare integers, and match no other label") {
  const std::map<std::string, std::string> labels{{"cores", "16"}, {"rank", "-3"}, {"zone", "a"}};
  for (const char* text : {"cores>8", "cores > 15", "cores<17", "rank<-2", "rank>-4,cores>0"})
    CHECK(selects(text, labels));
  for (const char* text : {"cores>16", "cores<16", "zone>1", "zone<1", "none>1", "none<1", "rank>0"})
    CHECK_FALSE(selects(text, labels));
  for (const char* text : {"cores>", "cores>a", ">8", "cores>1.5", "cores<8<9"})
    CHECK_FALSE(LabelSelector::parse(text, "argument selector"));
}

TEST_CASE("in and notin, and = and !=, are opposites for any labels") {
  CHECK(rc::check([](const std::map<std::uint8_t, std::uint8_t>& pairs, std::uint8_t key, std::uint8_t value) {
    std::map<std::string, std::string> labels;
    for (const auto& [name, content] : pairs) labels["k" + std::to_string(name % 8)] = std::to_string(content % 4);
    const std::string left = "k" + std::to_string(key % 8), right = std::to_string(value % 4);
    const auto holds = [&](const std::string& text) { return LabelSelector::parse(text, "s")->matches(labels); };
    RC_ASSERT(holds(left + "=" + right) != holds(left + "!=" + right));
    RC_ASSERT(holds(left + " in (" + right + ",9)") != holds(left + " notin (9," + right + ")"));
    RC_ASSERT(holds(left) != holds("!" + left));
  }));
}
