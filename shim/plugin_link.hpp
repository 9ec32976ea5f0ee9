// plugin_link: serves the scheduler plugin on a unix socket, one request at a time, on its own thread.
// Rules    a peer that sends no frame of plugin_wire, keeps a frame unfinished for kFrameWithin or does not read its
//          answers is disconnected and logged once a minute; it may connect again. A message that answer() refuses gets
//          the refusal first
// Bounds   kPluginPeers peers, each with at most one frame in memory; further ones are disconnected
// Errors   at start: the path is too long, in use by another process, or its folder cannot be written
// Threads  its own, joined by the destructor, which also removes the socket; answer() is called on it
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/pulse.hpp"
#include "common/result.hpp"

namespace wattle::shim {

inline constexpr std::size_t kPluginPeers = 8;
inline constexpr Duration kFrameWithin = std::chrono::seconds(5);

class PluginLink {
 public:
  using Answer = std::function<Result<std::string>(std::string_view message)>;  // returns a whole frame
  // The clock and the log must outlive this object.
  static Result<std::unique_ptr<PluginLink>> start(const std::string& path, Answer answer, const Clock& clock,
                                                   const Log& log);
  ~PluginLink();
  const Pulse& pulse() const { return pulse_; }

 private:
  struct Peer {
    Fd socket;
    std::string bytes;  // read, and not answered yet
    MonoTime since{};   // when the first of them arrived
  };
  PluginLink(std::string path, Fd listener, Fd stop, Answer answer, const Clock& clock, const Log& log);
  void serve();
  void accept();
  // The next two return why the peer must be disconnected.
  std::optional<Error> read(Peer& peer);
  std::optional<Error> answer_frames(Peer& peer);
  void drop(const Error& why);

  const std::string path_;
  const Fd listener_, stop_;
  const Answer answer_;
  const Clock& clock_;
  const Log& log_;
  Pulse pulse_;
  LogThrottle logged_{std::chrono::minutes(1)};
  std::vector<Peer> peers_;
  std::thread thread_;
};

}  // namespace wattle::shim
