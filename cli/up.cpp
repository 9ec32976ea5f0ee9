// `wattle up` and `wattle down`: start and stop a controller, an agent and a shim on this machine, with their own keys,
// ports and files in one folder, for trying Wattle. `down` removes all of it. Root is not required, but without it the
// agent measures less.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <ostream>
#include <thread>

#include "cli/commands.hpp"
#include "cli/declare.hpp"
#include "cli/own_path.hpp"
#include "cli/process.hpp"
#include "common/dir.hpp"
#include "common/host_name.hpp"
#include "common/http/client.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {

using transport::KeyPair;
namespace fs = std::filesystem;
constexpr int kReady_s = 120, kEnd_s = 20;
constexpr std::string_view kProcesses = "processes";  // lines "NAME PID SINCE"; marks a folder as ours
constexpr std::string_view kMadeFolder = "made";      // the topmost folder that `up` created on the path

struct UpOptions {
  std::string folder;
};

Result<std::string> up_folder(const Invocation& invocation, const UpOptions& options) {
  if (!options.folder.empty()) return fs::absolute(options.folder).lexically_normal().string();
  const auto state = invocation.around.variable("XDG_STATE_HOME");
  const auto home = invocation.around.variable("HOME");
  if (state && !state->empty()) return *state + "/wattle-up";
  if (home && !home->empty()) return *home + "/.local/state/wattle-up";
  return fail(Errc::not_found, "HOME", "is not set", "use another folder: --folder FOLDER");
}

// Finds distinct ports that are free now.
template <std::size_t Count>
Result<std::array<std::uint16_t, Count>> free_ports() {
  std::array<std::uint16_t, Count> ports{};
  std::array<Fd, Count> held;
  for (std::size_t i = 0; i < Count; ++i) {
    held[i] = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (!held[i].valid() || ::bind(held[i].get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::getsockname(held[i].get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
      return fail_errno(errno, "127.0.0.1");
    ports[i] = ntohs(at.sin_port);
  }
  return ports;
}

using UpRunning = std::map<std::string, Started>;

Result<UpRunning> read_processes(const std::string& folder) {
  WATTLE_TRY(const std::string text, read_file(folder + "/" + std::string(kProcesses)));
  UpRunning out;
  bool fine = true;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto words = parse::fields(line);
    const auto pid = words.size() == 3 ? parse::integer<int>(words[1]) : std::nullopt;
    const auto since = words.size() == 3 ? parse::integer<std::uint64_t>(words[2]) : std::nullopt;
    fine = fine && pid && since && *pid > 1;
    if (fine) out[std::string(words[0])] = {*pid, *since};
  });
  if (!fine) return fail(Errc::malformed, folder + "/" + std::string(kProcesses), "contains no process IDs", "");
  return out;
}

Status write_processes(const std::string& folder, const UpRunning& running) {
  std::string text;
  for (const auto& [name, process] : running)
    text += name + " " + std::to_string(process.pid) + " " + std::to_string(process.since) + "\n";
  return write_file_atomically(folder + "/" + std::string(kProcesses), text, 0600);
}

Status end_and_remove(const std::string& folder) {
  WATTLE_TRY(const UpRunning running, read_processes(folder));
  // Ends the controller last, so that the others can still send their data to it.
  for (const std::string name : {"shim", "agent", "controller"})
    if (const auto found = running.find(name); found != running.end()) end_process(found->second, kEnd_s);
  const auto made = read_file(folder + "/" + std::string(kMadeFolder));
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return fail(Errc::io, folder, error.message(), "remove it by hand");
  // Removes the parents that were created too, unless they are not empty.
  for (std::string above = folder; made && above.starts_with(*made) && above != *made && !error;) {
    above = fs::path(above).parent_path().string();
    fs::remove(above, error);
  }
  return {};
}

// Creates the folder and its missing parents, and returns the topmost folder created. The folder will contain keys, and
// programs are started from it.
Result<std::string> make_up_folder(const std::string& folder) {
  WATTLE_CHECK(check_own_path(folder));
  std::error_code error;
  std::string topmost = folder;
  for (fs::path above = fs::path(folder).parent_path(); !fs::exists(above, error) && above.has_relative_path();
       above = above.parent_path())
    topmost = above.string();
  WATTLE_CHECK(make_dirs(folder, 0700));
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error) return fail(Errc::io, folder, error.message(), "use another folder");
  return topmost;
}

struct UpPlan {
  std::string folder, node;
  std::uint16_t telemetry = 0, feed = 0, ask = 0, web = 0, agent_web = 0, shim_web = 0;
};

Status write_files(const UpPlan& plan) {
  const std::string& at = plan.folder;
  std::string allow;
  for (const auto& [name, role, who] : {std::array<std::string, 3>{"controller", "", ""},
                                        {"agent", "agent", plan.node},
                                        {"shim", "shim", "shim"},
                                        {"operator", "operator", "you"}}) {
    const KeyPair pair = KeyPair::generate();
    WATTLE_CHECK(pair.save(at + "/" + name + ".key"));
    WATTLE_CHECK(write_file_atomically(at + "/" + name + ".key.pub", pair.public_key + "\n", 0644));
    if (!role.empty()) allow = transport::with_line(allow, {pair.public_key, role, who});
  }
  WATTLE_CHECK(transport::write_list(at + "/allow", allow));
  const auto tcp = [](std::uint16_t port) { return "\"tcp://127.0.0.1:" + std::to_string(port) + "\""; };
  const auto web = [](std::uint16_t port) { return "{address: 127.0.0.1, port: " + std::to_string(port) + "}\n"; };
  const auto key = [&](const std::string& name) { return "\"" + at + "/" + name + ".key\""; };
  const std::string server_key = "\"" + at + "/controller.key.pub\"";
  const std::map<std::string, std::string> files{
      {"controller.yaml", "mode: live\ndata_dir: \"" + at + "/controller\"\nstore: {path: \"" + at +
                              "/controller/store.db\"}\nkey: " + key("controller") + "\nallow_list: \"" + at +
                              "/allow\"\ntelemetry: {endpoint: " + tcp(plan.telemetry) + "}\nfeed: {endpoint: " +
                              tcp(plan.feed) + "}\nask: {endpoint: " + tcp(plan.ask) + "}\nhttp: " + web(plan.web)},
      {"agent.yaml", "node: " + plan.node + "\nstate_dir: \"" + at +
                         "/agent\"\ncontroller: {endpoint: " + tcp(plan.telemetry) + ", key: " + key("agent") +
                         ", server_key: " + server_key + "}\nhttp: " + web(plan.agent_web)},
      {"shim.yaml", "listen: " + web(plan.shim_web) + "controller: {ask: " + tcp(plan.ask) +
                        ", feed: " + tcp(plan.feed) + ", key: " + key("shim") + ", server_key: " + server_key + "}\n"},
      {"cli.yaml", "server: " + tcp(plan.ask) + "\nfeed: " + tcp(plan.feed) + "\nkey: " + key("operator") +
                       "\nserver_key: " + server_key + "\n"}};
  for (const auto& [name, text] : files) WATTLE_CHECK(write_file_atomically(at + "/" + name, text, 0600));
  for (const char* name : {"controller", "agent"}) WATTLE_CHECK(make_dirs(at + "/" + name, 0700));
  return {};
}

std::string end_of(const std::string& log_file) {
  const auto text = read_file(log_file, 64 << 20);
  constexpr std::size_t kShownOfLog = 2000;
  return !text ? "" : text->size() > kShownOfLog ? text->substr(text->size() - kShownOfLog) : *text;
}

// Fails if one of the programs has exited, which it should not do by itself.
Status check_running(const UpPlan& plan, const UpRunning& running) {
  for (const auto& [name, process] : running)
    if (!runs(process))
      return fail(Errc::unavailable, "wattle-" + name,
                  "the process ended: " + end_of(plan.folder + "/" + name + ".log"), "");
  return {};
}

// Waits until `done` is true for the page or a program has exited.
Status wait_for(const UpPlan& plan, const UpRunning& running, const std::string& name, std::uint16_t port,
                const std::string& path, const std::function<bool(const http::Answer&)>& done) {
  http::Client client("127.0.0.1", port, 64 << 20);
  for (int tenth = 0; tenth < 10 * kReady_s; ++tenth) {
    const auto answer = client.request("GET", path, "", std::chrono::seconds(2));
    if (answer && done(*answer)) return {};
    WATTLE_CHECK(check_running(plan, running));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail(Errc::timeout, "wattle-" + name, "is not ready: " + end_of(plan.folder + "/" + name + ".log"), "");
}

Status start_all(const UpPlan& plan, UpRunning& running) {
  const auto start = [&](const std::string& name) -> Status {
    std::vector<std::string> words{program_of_ours("wattle-" + name)};
    if (name == "agent") words.emplace_back("run");
    words.insert(words.end(), {"--config", plan.folder + "/" + name + ".yaml"});
    WATTLE_TRY(running[name], start_program(words, plan.folder + "/" + name + ".log"));
    return write_processes(plan.folder, running);
  };
  const auto fine = [](const http::Answer& answer) { return answer.status == 200; };
  WATTLE_CHECK(start("controller"));
  WATTLE_CHECK(wait_for(plan, running, "controller", plan.web, "/livez", fine));
  WATTLE_CHECK(start("agent"));
  WATTLE_CHECK(start("shim"));
  WATTLE_CHECK(wait_for(plan, running, "shim", plan.shim_web, "/readyz", fine));
  WATTLE_CHECK(wait_for(plan, running, "controller", plan.web, "/metrics", [&](const http::Answer& page) {
    return page.body.find("wattle_controller_node_up{node=\"" + plan.node + "\"} 1") != std::string::npos;
  }));
  return check_running(plan, running);
}

// Lists the programs of a folder in use that have exited.
std::string ended_of(const std::string& folder) {
  const auto running = read_processes(folder);
  std::string ended;
  for (const auto& [name, process] : running ? *running : UpRunning())
    if (!runs(process)) ended += (ended.empty() ? ": wattle-" : ", wattle-") + name;
  return ended.empty() ? "is in use: Wattle is running" : "is in use, and some processes have ended" + ended;
}

Outcome bring_up(const Invocation& invocation, const UpOptions& options) {
  UpPlan plan;
  WATTLE_TRY(plan.folder, up_folder(invocation, options));
  const std::string down = "wattle down" + (options.folder.empty() ? "" : " --folder " + options.folder);
  WATTLE_CHECK(check_own_path(plan.folder));
  std::error_code error;
  if (fs::exists(plan.folder, error) && !fs::is_empty(plan.folder, error)) {
    if (fs::exists(plan.folder + "/" + std::string(kProcesses)))
      return fail(Errc::conflict, plan.folder, ended_of(plan.folder), "stop it with: " + down);
    return fail(Errc::conflict, plan.folder, "is not empty", "use another folder");
  }
  if (std::any_of(plan.folder.begin(), plan.folder.end(),
                  [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; }))
    return fail(Errc::malformed, plan.folder, "contains a character that YAML would misread", "use another folder");
  plan.node = transport::Identity::from_user_id("agent/" + host_name()) ? host_name() : "this-machine";
  WATTLE_TRY(const auto ports, free_ports<6>());
  plan.telemetry = ports[0], plan.feed = ports[1], plan.ask = ports[2];
  plan.web = ports[3], plan.agent_web = ports[4], plan.shim_web = ports[5];
  WATTLE_TRY(const std::string topmost, make_up_folder(plan.folder));
  UpRunning running;
  WATTLE_CHECK(write_processes(plan.folder, running));
  WATTLE_CHECK(write_file_atomically(plan.folder + "/" + std::string(kMadeFolder), topmost, 0600));
  Status up = write_files(plan);
  if (up) up = start_all(plan, running);
  if (!up) {
    // Removes a partial start. The error has the cause.
    WATTLE_CHECK(end_and_remove(plan.folder));
    return forward_error(up);
  }
  std::ostream& out = invocation.around.out;
  const auto url = [](std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); };
  out << "node " << plan.node << " is live\n"
      << "page:           " << url(plan.web) << "/\n"
      << "files and logs: " << plan.folder << "\n"
      << "metrics:        " << url(plan.web) << "/metrics, shim " << url(plan.shim_web) << ", agent "
      << url(plan.agent_web) << "\n"
      << "try:            WATTLE_CONFIG=" << plan.folder << "/cli.yaml wattle status\n"
      << "stop it with:   " << down << "\n";
  return kOk;
}

Outcome bring_down(const Invocation& invocation, const UpOptions& options) {
  WATTLE_TRY(const std::string folder, up_folder(invocation, options));
  std::error_code error;
  if (!fs::exists(folder + "/" + std::string(kProcesses), error))
    return fail(Errc::not_found, folder, "contains no installation of `wattle up`", "pass its folder: --folder FOLDER");
  // end_and_remove() removes the folder and ends the processes that its files name.
  WATTLE_CHECK(check_own_path(folder));
  WATTLE_CHECK(end_and_remove(folder));
  invocation.around.out << folder << ": stopped all processes and removed the folder\n";
  return kOk;
}

void declare_folder(CLI::App& command, UpOptions& options) {
  command
      .add_option("--folder", options.folder,
                  "Folder for keys, configuration, state and logs (default: ~/.local/state/wattle-up)")
      ->type_name("DIR");
}

}  // namespace

void declare_up(CLI::App& command, Run& chosen) { declare_folder(command, runs(command, chosen, bring_up)); }
void declare_down(CLI::App& command, Run& chosen) { declare_folder(command, runs(command, chosen, bring_down)); }

}  // namespace wattle::cli
