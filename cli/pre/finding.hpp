// finding: a result of the checks before an installation, for a file, a cluster or this machine.
// Gives    objects of docs/reference/api.md, "doctor": name, state, detail, fix
// Threads  values
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/json/value.hpp"

namespace wattle::cli {

enum class State { ok, warn, failed };  // warn: works, but not optimally

struct Finding {
  std::string where;  // file, or "cluster", or the machine's name
  std::string name;   // one word or path that never changes: "extender.weight"
  State state = State::ok;
  std::string detail;
  std::string fix;
};

class Findings {
 public:
  explicit Findings(std::string where) : where_(std::move(where)) {}
  void ok(std::string name, std::string detail) { add(std::move(name), State::ok, std::move(detail), ""); }
  void warn(std::string name, std::string detail, std::string fix) {
    add(std::move(name), State::warn, std::move(detail), std::move(fix));
  }
  void failed(std::string name, std::string detail, std::string fix) {
    add(std::move(name), State::failed, std::move(detail), std::move(fix));
  }
  void add(std::string name, State state, std::string detail, std::string fix) {
    all_.push_back({where_, std::move(name), state, std::move(detail), std::move(fix)});
  }
  void take(std::vector<Finding> more) {
    for (Finding& one : more) all_.push_back(std::move(one));
  }
  std::vector<Finding> all() && { return std::move(all_); }

 private:
  std::string where_;
  std::vector<Finding> all_;
};

// {"ok": ..., "findings": [...]}
OrderedJson findings_document(const std::vector<Finding>& findings);

}  // namespace wattle::cli
