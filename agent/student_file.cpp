#include "agent/student_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "common/dir.hpp"

namespace wattle::agent {

void StudentFile::keep(const SentStudent& sent) {
  if (sent.version == 0) {
    if (removed_) return;
    if (::unlink(path_.c_str()) == 0)
      log_.info("student.removed", "the student was removed", {{"file", path_}});
    else if (errno != ENOENT)
      return failed(fail_errno(errno, path_).value());
    removed_ = true;
    written_.reset();
    return;
  }
  if (!sent.file || sent.file == written_) return;
  // A file that is replaced gets a new trial, so the same content is not written again.
  const auto there = read_file(path_, sent.file->size());
  const bool same = there && *there == *sent.file;
  // The actuator runs as root without the right to override modes, in the agent's group.
  if (const Status written = same ? Status() : write_file_atomically(path_, *sent.file, 0640); !written)
    return failed(written.error());
  if (!same)
    log_.info("student.written", "the controller's student was written", {{"file", path_}, {"version", sent.version}});
  written_ = sent.file;
  removed_ = false;
  reported_.clear();
}

void StudentFile::failed(const Error& error) {
  if (reported_ == error.what) return;
  reported_ = error.what;
  log_.warn("student.write_failed", "the student cannot be written", {{"error", error}});
}

}  // namespace wattle::agent
