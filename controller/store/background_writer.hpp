// background_writer: writes whole files on its own thread, so that a slow disk delays no decision.
// Rules    per path the newest content wins; the file has either the old or the new content (write_file_atomically)
// Errors   logged once per path and problem; the next content is tried again
// Threads  post() from any; the destructor writes pending content
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "common/log.hpp"

namespace wattle::controller {

class BackgroundWriter {
 public:
  // `on` false: drops all content.
  explicit BackgroundWriter(const Log& log, bool on = true);
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;
  void post(std::string path, std::string content);

 private:
  void run(const std::stop_token& stop);

  const Log& log_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, std::string> waiting_;  // by path
  std::map<std::string, std::string> logged_;   // last problem per path
  std::jthread thread_;
};

}  // namespace wattle::controller
