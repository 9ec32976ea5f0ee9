// reflector: keeps a copy of one kind of object the way the API server means it: list once, then watch from there.
// Method   pages of `limit`; watch with bookmarks from the list's resourceVersion; a watch that ends is taken up again
//          where it was; 410 (too old) and what cannot be read mean a new list; everything else is tried again after a pause that
//          doubles to 32 s, with jitter
// Errors   step() never fails: it says when to be called again; figures() and problem() tell how it goes
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
};

// An API server, as a reflector needs it.
class Api {
 public:
  virtual ~Api() = default;
  virtual Result<Reply> get(const std::string& target) = 0;
  // Lines of the answer as they come, until the peer ends it, `line` says false or nothing came for too long (an error).
  // A status other than 200 is in the reply, with its body; no line is given then.
  virtual Result<Reply> stream(const std::string& target, const std::function<bool(std::string_view)>& line) = 0;
};

// Where objects go. All calls come from step().
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin_list() = 0;  // what is not put until end_list() is gone; one that was not ended counts for nothing
  virtual void put(const SortedJson& object) = 0;
  virtual void end_list() = 0;
  virtual void erase(const SortedJson& object) = 0;  // its last state
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
  std::uint64_t too_old = 0;    // 410: listed anew
  std::uint64_t failures = 0;   // of any kind
  std::uint64_t malformed = 0;  // lines and pages that are no such thing
};

class Reflector {
 public:
  Reflector(Api& api, Sink& sink, ReflectorOptions options);
  // One whole list or one whole watch. The pause before the next call.
  Duration step();
  bool synced() const { return !version_.empty(); }  // a whole list was taken, and is being followed
  const ReflectorFigures& figures() const { return figures_; }
  const std::string& problem() const { return problem_; }  // the last one; empty: all is well

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
  std::string version_;       // resourceVersion that the copy stands at; empty: list
  std::uint32_t failed_ = 0;  // in a row
  std::uint32_t futile_ = 0;  // watches in a row that told nothing and meant a new list
  ReflectorFigures figures_;
  std::string problem_;
};

}  // namespace wattle::kube
