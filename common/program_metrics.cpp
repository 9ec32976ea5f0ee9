#include "common/program_metrics.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "common/boot_time.hpp"
#include "common/parse.hpp"
#include "common/version.hpp"

namespace wattle {

namespace {

// Indices of fields in /proc/PID/stat after the name, which may hold spaces and parentheses (proc_pid_stat(5)): field 3
// is the first.
constexpr std::size_t kUtime = 14 - 3, kStime = 15 - 3, kStart = 22 - 3, kRss = 24 - 3;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(" \t\n");
    if (begin == text.npos) break;
    const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return words;
}

// Returns the soft limit of that name. Unset: unlimited or unknown.
std::optional<std::uint64_t> limit_of(std::string_view limits, std::string_view name) {
  std::optional<std::uint64_t> found;
  parse::for_each_line(limits, [&](std::string_view line) {
    if (!line.starts_with(name)) return;
    const auto words = words_of(line.substr(name.size()));
    if (!words.empty()) found = parse::u64(words.front());
  });
  return found;
}

class Text {
 public:
  template <class T>
  void one(std::string_view name, std::string_view type, std::string_view help, const std::optional<T>& value,
           std::string_view labels = {}) {
    if (!value) return;
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value).ptr;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
    text_.append(type).append("\n").append(name).append(labels).append(" ");
    text_.append(digits.data(), static_cast<std::size_t>(end - digits.data())).append("\n");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

ProcessFigures read_process(const Dir& proc, double boot_wall_s) {
  ProcessFigures out;
  const double per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (const auto stat = proc.read_file("self/stat")) {
    const auto words = words_of(std::string_view(*stat).substr(stat->rfind(')') + 1));
    const auto word = [&](std::size_t at) { return at < words.size() ? parse::u64(words[at]) : std::nullopt; };
    if (const auto user = word(kUtime), system = word(kStime); user && system)
      out.cpu_s = static_cast<double>(*user + *system) / per_s;
    if (const auto pages = word(kRss)) out.resident_bytes = *pages * page_bytes;
    if (const auto start = word(kStart)) out.start_wall_s = boot_wall_s + static_cast<double>(*start) / per_s;
  }
  if (const auto limits = proc.read_file("self/limits")) out.max_fds = limit_of(*limits, "Max open files");
  if (const auto folder = proc.open_dir("self/fd")) {
    if (const auto entries = folder->list()) out.open_fds = entries->size();
  }
  return out;
}

std::string program_metrics(std::string_view program, const ProcessFigures& process) {
  Text text;
  const std::string labels = "{program=\"" + std::string(program) + "\",version=\"" + std::string(kVersion) +
                             "\",compiler=\"" +
#ifdef __clang__
                             "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) +
#else
                             "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) +
#endif
                             "\"}";
  text.one("wattle_build_info", "gauge", "Version and compiler of this program; always 1.", std::optional(1), labels);
  text.one("process_cpu_seconds_total", "counter", "User and system CPU time.", process.cpu_s);
  text.one("process_start_time_seconds", "gauge", "Start time of the process as Unix time.", process.start_wall_s);
  text.one("process_resident_memory_bytes", "gauge", "Resident memory.", process.resident_bytes);
  text.one("process_open_fds", "gauge", "Open file descriptors.", process.open_fds);
  text.one("process_max_fds", "gauge", "Limit of open file descriptors.", process.max_fds);
  return text.take();
}

std::string program_metrics(std::string_view program) {
  const auto proc = Dir::open_("/proc");
  return program_metrics(program, proc ? read_process(*proc, boot_wall_s()) : ProcessFigures{});
}

}  // namespace wattle
