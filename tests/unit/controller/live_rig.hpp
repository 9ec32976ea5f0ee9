// live_rig: a decider with its nodes, and the documents that are made of it.
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "controller/web/documents.hpp"
#include "tests/unit/controller/decider_rig.hpp"

namespace wattle::controller::test {

struct LiveRig : DeciderRig {
  NoSink sink;
  Log log = Log::silent();
  Telemetry telemetry{clock, log, sink};

  explicit LiveRig(ModeSetting mode = Mode::live) : DeciderRig(mode) { begin(); }
  Sources sources() const { return {config, state, *decider, telemetry, networks, clock, nullptr, "", 77, {}, 0}; }
  Result<wattle::SortedJson> get(const std::string& what, const Arguments& arguments = {}) {
    auto body = document(sources(), what, arguments);
    if (!body) return forward_error(body);
    return wattle::SortedJson::parse(*body);
  }
};

}  // namespace wattle::controller::test
