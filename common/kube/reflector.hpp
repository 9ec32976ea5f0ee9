// reflector: keeps a copy of one kind of object as Kubernetes clients should: list once, then watch from that version.
// Method   lists in pages of `limit`; watches with bookmarks from the list's resourceVersion; resumes a watch that ends
//          where it was; lists again after 410 (too old) or an unreadable event; retries everything else after a pause
//          that doubles up to 32 s, with jitter, or lasts as long as the server's Retry-After. A page that is too large
//          to read is requested again with fewer objects
// Errors   none: step() returns when to call it again; figures() and problem() describe the state
// Threads  single owner, which may block in Api
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::kube {

struct Reply {
  int status = 0;
  std::string body;
  std::chrono::seconds retry_after{0};  // the server's Retry-After; 0: none
};

// The API server's interface for a reflector.
class Api {
 public:
  virtual ~Api() = default;
  virtual Result<Reply> get(const std::string& target) = 0;
  // Passes the lines of the answer as they arrive, until the peer ends it, `line` returns false or no line arrives for
  // too long (an error). For a status other than 200, returns the reply with its body and passes no line.
  virtual Result<Reply> stream(const std::string& target, const std::function<bool(std::string_view)>& line) = 0;
};

// Receives objects. All calls come from step().
class Sink {
 public:
  virtual ~Sink() = default;
  // Objects that are not put before end_list() no longer exist. A list without end_list() is ignored.
  virtual void begin_list() = 0;
  virtual void put(const SortedJson& object) = 0;
  virtual void end_list() = 0;
  virtual void erase(const SortedJson& object) = 0;  // last state of the object
};

struct ReflectorOptions {
  std::string path;      // "/api/v1/nodes"
  std::string selector;  // further parameters, encoded: "fieldSelector=spec.nodeName%3Dn1"
  std::size_t limit = 500;
  std::chrono::seconds watch_for{290};  // the server ends a watch after this; some jitter is added
  std::uint64_t seed = 1;
};

struct ReflectorFigures {
  std::uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0;
  std::uint64_t too_old = 0;    // 410: listed again
  std::uint64_t failures = 0;   // all kinds of failures
  std::uint64_t malformed = 0;  // lines and pages that could not be read
};

class Reflector {
 public:
  Reflector(Api& api, Sink& sink, ReflectorOptions options);
  // Runs one whole list or one whole watch. Returns the pause before the next call.
  Duration step();
  bool synced() const { return !version_.empty(); }  // a whole list was received and is being followed
  const ReflectorFigures& figures() const { return figures_; }
  const std::string& problem() const { return problem_; }  // last problem; empty: none

 private:
  Duration list();
  Duration watch();
  Duration fail_(std::string what);
  Duration pause(std::uint32_t times);
  bool take(std::string_view line, bool& relist);
  std::string target(const std::string& more) const;

  Api& api_;
  Sink& sink_;
  ReflectorOptions options_;
  std::mt19937_64 random_;
  std::string version_;       // resourceVersion of the copy; empty: list again
  std::uint32_t failed_ = 0;  // failures in a row
  std::uint32_t futile_ = 0;  // watches in a row without an event that led to a new list
  ReflectorFigures figures_;
  std::string problem_;
};

}  // namespace wattle::kube
