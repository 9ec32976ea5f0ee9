#include "agent/recorder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "agent/collect/probe.hpp"
#include "agent/sampler.hpp"
#include "agent/ticker.hpp"
#include "common/descriptor_limit.hpp"

namespace wattle::agent {

Result<LineFile> LineFile::create(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644));
  if (!fd.valid()) return fail_errno(errno, path, "choose another --output-file");
  struct stat info {};
  const bool regular = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  return LineFile(std::move(fd), path, regular);
}

LineFile LineFile::standard_output() { return {Fd(::dup(STDOUT_FILENO)), "stdout", false}; }

Status LineFile::write(std::string_view lines, int stop_fd) {
  std::string_view rest = lines;
  while (!rest.empty()) {
    std::array<pollfd, 2> ready{pollfd{fd_.get(), POLLOUT, 0}, pollfd{stop_fd, POLLIN, 0}};
    if (!regular_ && ::poll(ready.data(), ready.size(), -1) > 0 && ready[0].revents == 0) return {};
    // A writable pipe has room for PIPE_BUF bytes, so this write does not block.
    const std::size_t most = regular_ ? rest.size() : std::min<std::size_t>(rest.size(), PIPE_BUF);
    const ssize_t n = ::write(fd_.get(), rest.data(), most);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int why = n < 0 ? errno : EIO;
      if (regular_ && ::ftruncate(fd_.get(), written_bytes_) != 0) regular_ = false;
      return fail_errno(why, name_, why == ENOSPC || why == EDQUOT ? "free disk space, or record less often" : "");
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  written_bytes_ += static_cast<std::int64_t>(lines.size());
  return {};
}

Status LineFile::finish() {
  if (regular_ && ::fsync(fd_.get()) != 0) return fail_errno(errno, name_);
  return {};
}

Status record_samples(const AgentConfig& config, const RecorderOptions& options, const Clock& clock, const Log& log) {
  // Reports a closed reader as an error instead of ending silently.
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  WATTLE_TRY(const Fd stop, stop_signals());
  WATTLE_TRY(auto sampler, Sampler::open_(config, clock, 0));
  WATTLE_TRY(auto ticker, Ticker::start(config.tick));
  WATTLE_TRY(auto prober, Prober::open_(config.probes, clock, log));
  LineFile out = LineFile::standard_output();
  if (!options.file.empty()) {
    WATTLE_TRY(out, LineFile::create(options.file));
  }
  if (options.count == 1)
    prober.round();
  else
    prober.start();
  if (!options.json) WATTLE_CHECK(out.write(csv_header()));
  bool seen = !options.filter.any();
  for (std::uint64_t i = 0; i < options.count; ++i) {
    if (i > 0 && !ticker.wait(stop.get())) break;
    sampler.tick();
    const Sample& sample = sampler.with_probes(prober.values());
    for (const auto& workload : sample.record.workloads) seen = seen || options.filter.takes(workload);
    WATTLE_CHECK(out.write(options.json ? sample_json(config.node, sample, options.filter) + "\n"
                                        : sample_csv(config.node, sample, options.filter),
                           stop.get()));
  }
  WATTLE_CHECK(out.finish());
  if (!seen)
    return fail(Errc::not_found, options.filter.text(), "was in no sample",
                "list all workloads with wattle-agent sample");
  return {};
}

}  // namespace wattle::agent
