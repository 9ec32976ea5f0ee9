// telemetry_sink: receives the records, placements and findings of all sessions.
// Source   Telemetry and RecordReader, which call it
// Errors   none: a record has been validated before
// Threads  the loop's
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "common/outbox.hpp"
#include "common/wire/messages.hpp"
#include "controller/provision/student.hpp"

namespace wattle::controller {

class TelemetrySink {
 public:
  virtual ~TelemetrySink() = default;
  virtual void on_hello(const wire::Hello& hello) = 0;
  // Called before a record is folded, shown and kept: units that are confirmed workloads get their UIDs. Returns true
  // if the record changed.
  virtual bool name(const std::string&, Record&) { return false; }
  // Called before a record is shown and kept: merges workloads beyond a node's share; returns how many.
  virtual std::size_t fold(const std::string&, Record&) { return 0; }
  // Called between two records of a message: true leaves the others for take_rest().
  virtual bool enough() { return false; }
  // Called between two steps: true leaves the others for read_on().
  virtual bool pause() { return false; }
  // Does a part of what on_record() or on_live() left to do; returns true while more is left. The arguments of the call
  // are still valid.
  virtual bool step() { return false; }
  virtual void on_record(const std::string& node, const Record& record) = 0;
  // Receives a record ahead of its turn, before on_record() receives it.
  virtual void on_live(const std::string& node, const Record& record) = 0;
  virtual void on_placement(const wire::Placement& placement) = 0;
  virtual void on_lost(const std::string& node) = 0;
  // Receives the agent's answer to a SleepOrder (sleep_link.hpp).
  virtual void on_goodbye(const std::string&, const wire::Goodbye&) {}
  // Levels from the annotations of the node's pods (wire::Ack).
  virtual std::map<std::string, std::string> pod_levels(const std::string&) { return {}; }
  // Margins for the node's services (wire::Ack).
  virtual std::map<std::string, wire::MarginStep> margins(const std::string&) { return {}; }
  // Student for the node's services (wire::Ack); null: none.
  virtual std::shared_ptr<const Student> student(const std::string&) { return nullptr; }
};

}  // namespace wattle::controller
