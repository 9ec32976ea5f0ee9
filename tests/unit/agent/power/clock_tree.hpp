// clock_tree: the files of a machine's clock below a directory, as in the kernel.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace wattle::agent::test {

class ClockTree {
 public:
  // `root` is the parent of sys.
  explicit ClockTree(const std::string& root) : dir_(root + "/sys/class/rtc/rtc0") {
    std::filesystem::create_directories(dir_ + "/device/power");
    put("since_epoch", "1700000000\n");
    put("wakealarm", "");
    put("device/power/wakeup", "enabled\n");
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(dir_ + "/" + name) << text; }
  std::string alarm() const {
    std::stringstream text;
    text << std::ifstream(dir_ + "/wakealarm").rdbuf();
    return text.str();
  }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }

 private:
  std::string dir_;
};

}  // namespace wattle::agent::test
