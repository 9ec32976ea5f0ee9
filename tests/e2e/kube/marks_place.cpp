// The real API server on which node_marks_test.py runs the laws of marks.
// Source   the environment: MARKS_SERVER, its URL; MARKS_FOLDER, a folder with ca.pem and the files admin, wattle and
//          stranger, each with a token
#include <doctest/doctest.h>

#include <cstdlib>

#include "common/clock.hpp"
#include "controller/power/kube_marks.hpp"
#include "tests/integration/marks/place.hpp"

namespace wattle::controller::power::test {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  REQUIRE_MESSAGE(value != nullptr, name, " is not set: run node_marks_test.py");
  return value;
}

class RealPlace final : public Place {
 public:
  kube::ApiServer admin() const override { return as("admin"); }
  kube::ApiServer wattle() const override { return as("wattle"); }
  kube::ApiServer stranger() const override { return as("stranger"); }

 private:
  static kube::ApiServer as(const std::string& name) {
    const std::string folder = from_environment("MARKS_FOLDER");
    kube::ApiServer server{*kube::parse_url(from_environment("MARKS_SERVER")), folder + "/" + name};
    server.origin.tls->ca_file = folder + "/ca.pem";
    return server;
  }
};

}  // namespace

std::unique_ptr<Place> make_place() { return std::make_unique<RealPlace>(); }

// A step of woken_pod_test.py: MARKS_ORDER is mark or unmark.
TEST_CASE("order: marks or unmarks the node MARKS_NODE") {
  if (std::getenv("MARKS_NODE") == nullptr) return;
  placement::sleep::NodePowerRecord record;
  record.node = from_environment("MARKS_NODE");
  record.operation = 1;
  record.marked = true;
  const SystemClock clock;
  const Log log = Log::silent();
  KubeMarks marks(make_place()->wattle(), "test", clock, log);
  const bool on = from_environment("MARKS_ORDER") == "mark";
  record.state = on ? placement::sleep::PowerState::asleep : placement::sleep::PowerState::awake;
  CHECK((on ? marks.mark(record.node, record) : marks.unmark(record.node, record)));
}

}  // namespace wattle::controller::power::test
