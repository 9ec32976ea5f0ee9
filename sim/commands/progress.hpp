// progress: a bar on standard error, redrawn in place on a terminal; otherwise a line for every tenth.
// Errors   none
// Threads  main thread
#pragma once

#include <string>

namespace wattle::sim::commands {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  void show(double done, const std::string& next);

 private:
  bool terminal_;
  int tenths_ = -1;
};

}  // namespace wattle::sim::commands
