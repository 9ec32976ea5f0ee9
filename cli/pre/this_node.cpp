#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/pre/live.hpp"
#include "cli/view.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"

extern char** environ;

namespace wattle::cli {

namespace {
using Json = OrderedJson;
constexpr std::size_t kMaxBytes = 1 << 20;

// Returns the program's stdout; its exit code adds no information to the findings.
Result<std::string> output_of(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::array<std::string, 4> words{program, "doctor", "-o", "json"};
  std::array<char*, 5> argv{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fail_errno(error, program, "install it on this machine, or run the command on a node with an agent");
  writing = Fd();
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(reading.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || text.size() > kMaxBytes) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return text;
}
}  // namespace

Result<std::vector<Finding>> findings_of_agent(const std::string& text) {
  const Json document = Json::read(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const View view(document);
  if (!document.is_object() || !view["findings"].present())
    return fail(Errc::malformed, "wattle-agent doctor", "returned no findings",
                "check that it has the same version as wattle");
  Findings out(view["node_name"].text_or("this machine"));
  for (const View& finding : view["findings"].items()) {
    const bool ok = finding["state"].text() == "ok" || finding["state"].text() == "absent",
               optional = finding["optional"].flag().value_or(true);
    out.add(finding["source"].text_or(),
            ok         ? State::ok
            : optional ? State::warn
                       : State::failed,
            finding["why"].text_or(""), finding["mend"].text_or(""));
  }
  return std::move(out).all();
}

Result<std::vector<Finding>> examine_this_node(const std::string& program) {
  WATTLE_TRY(const std::string text, output_of(program));
  return findings_of_agent(text);
}

}  // namespace wattle::cli
