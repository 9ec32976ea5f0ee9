// progress: shows progress on standard error: a bar that is redrawn on a terminal, otherwise a line for every tenth.
// Errors   none
// Threads  main thread
#pragma once

#include <functional>
#include <string>

namespace wattle::sim::commands {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  void show(double done, const std::string& next);
  // Shows the arguments of each call while this bar exists.
  std::function<void(double, const std::string&)> callback() {
    return [this](double done, const std::string& next) { show(done, next); };
  }

 private:
  bool terminal_;
  int tenths_ = -1;
};

}  // namespace wattle::sim::commands
