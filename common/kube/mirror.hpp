// mirror: a thread that follows one kind of object and passes its changes to a sink.
// Errors   none ends it: health() has the current problem, and its start and end are logged
// Threads  start() and destructor by the owner; the sink is called on the mirror's own thread; health() any
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "common/kube/http_api.hpp"
#include "common/log.hpp"

namespace wattle::kube {

struct MirrorHealth {
  bool synced = false;
  std::string problem;  // empty: no problem
  ReflectorFigures figures;
};

class Mirror {
 public:
  // `sink` must outlive the mirror.
  Mirror(ApiServer server, ReflectorOptions options, Sink& sink, const Log& log);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror();
  MirrorHealth health() const;

 private:
  void run(const std::stop_token& stop);
  void report();

  HttpApi api_;
  Reflector reflector_;
  const Log& log_;
  mutable std::mutex mutex_;
  MirrorHealth health_;
  std::jthread thread_;
};

}  // namespace wattle::kube
