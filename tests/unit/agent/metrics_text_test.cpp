#include "agent/metrics_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "common/parse.hpp"
#include "micro_of.hpp"

using namespace wattle;
using namespace wattle::agent;
using agent::test::micro_of;

TEST_CASE("any label value is one line, and is read back unchanged") {
  const bool holds = rc::check("escape and unescape", [](const std::string& value) {
    std::string labels;
    add_label(labels, "k", value);
    RC_ASSERT(labels.starts_with("k=\"") && labels.ends_with("\""));
    RC_ASSERT(labels.find('\n') == std::string::npos);
    RC_ASSERT(parse::is_utf8(labels));
    std::string plain;
    for (std::size_t i = 3; i + 1 < labels.size(); ++i) {
      RC_ASSERT(labels[i] != '"');
      if (labels[i] == '\\') {
        ++i;
        RC_ASSERT(i + 1 < labels.size());
        RC_ASSERT(labels[i] == '\\' || labels[i] == '"' || labels[i] == 'n');
        plain += labels[i] == 'n' ? '\n' : labels[i];
      } else {
        plain += labels[i];
      }
    }
    RC_ASSERT(plain.size() == value.size());
    if (parse::is_utf8(value)) RC_ASSERT(plain == value);
  });
  CHECK(holds);
}

TEST_CASE("millionths are written exactly") {
  const bool holds = rc::check("micro", [](std::uint64_t number) {
    MetricsText text(64);
    text.begin("m", "counter", "h");
    text.micro(number);
    const std::string page = text.take();
    const auto at = page.rfind(' ');
    RC_ASSERT(micro_of(page.substr(at + 1, page.size() - at - 2)) == number);
  });
  CHECK(holds);
}
