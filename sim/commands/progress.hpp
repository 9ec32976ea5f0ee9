// progress: a bar on standard error, drawn over itself on a terminal, a line for every tenth elsewhere.
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
