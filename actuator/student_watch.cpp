#include "actuator/student_watch.hpp"

#include <sys/stat.h>

namespace wattle::actuator {

namespace {
constexpr Duration kLookEvery = std::chrono::seconds(10);
}

Result<StudentWatch> StudentWatch::open_(const std::string& path) {
  StudentWatch watch(path);
  watch.read_ = watch.version();
  WATTLE_TRY(watch.network_, models::provision::read_student(path));
  return watch;
}

StudentWatch::Version StudentWatch::version() const {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size),
          static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Result<bool> StudentWatch::look(MonoTime now) {
  if (now - looked_at_ < kLookEvery) return false;
  looked_at_ = now;
  const Version there = version();
  if (there == read_) return false;
  read_ = there;
  network_.reset();
  WATTLE_TRY(network_, models::provision::read_student(path_));
  return true;
}

}  // namespace wattle::actuator
