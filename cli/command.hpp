// command: the interface of `wattle` commands (arguments, environment, exit code) and the table of commands.
// Errors   a command prints its errors itself and returns an exit code: 0 success, 1 problem found, 2 usage or
//          configuration
// Threads  main only
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace CLI {
class App;
}

namespace wattle::cli {

enum class Output { table, wide, json, yaml, name };  // name: only for `place`; prints the node alone

// The process's environment, injected so that tests can inspect it.
struct Surroundings {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;                                            // is `out` one?
  std::function<std::optional<std::string>(const char*)> variable;  // of the environment
  std::string name = "wattle";                                      // the name that the user typed
  bool keyboard = false;                                            // is standard input a terminal?
};

// Arguments of `place`.
struct PlaceArguments {
  std::string name, cpu, memory = "0", app, latency_soft, latency_hard, latency_target, name_space = "default", uid;
  std::string defer, next_file;
  bool wait = false;
  std::vector<std::string> nodes, next;
};

// Arguments of `confirm` and `done`.
struct ConfirmArguments {
  std::string unit, time_limit;
  bool failed = false;
};

// The parsed command line; each command reads its own part.
struct Arguments {
  std::string server, feed, key, server_key, timeout;  // empty: as configured
  Output output = Output::table;
  std::string node;
  std::string pod;  // of `explain`, `pod` and `report`
  int limit = 20;
  std::string since;
  std::string by, label;  // of `report`
  bool watch = false, once = false;
  std::string watched = "nodes";   // of `watch`
  std::string action;              // of `keys` and `policy`
  std::vector<std::string> words;  // its operands
  std::string allow_list;          // empty: as configured
  bool switch_over = false;        // of `keys rotate`
  std::string tokens;              // of `keys token`, as are the next two
  std::string valid = "24h";
  bool replace = false;
  std::string controller_file = "/etc/wattle/controller.yaml";           // of `token` and `keys controller`
  std::string address, join_valid = "15m";                               // of `token`
  std::string folder;                                                    // of `up` and `down`
  std::string name_space = "wattle", agents_namespace = "wattle-agent";  // of `keys bootstrap`
  std::string kubeconfig, context;                                       // of it, `doctor` and `provision`
  bool before = false, this_node = false;                                // of `doctor`, as are the next two
  std::vector<std::string> scheduler_files;
  std::string values_file;
  std::string shell;
  std::vector<std::string> name_spaces;  // of `provision set` and `provision restore`, as are the next
  bool follow = false, dry_run = false;
  int every_s = 60;
  std::string from, token_file;
  std::string mode, policy, reward, load, expression, cpu_wait, late, why,
      to;            // of `policy`; rewards of `explain`, `why` of `model` too
  std::string name;  // of `model`
  std::vector<std::string> weights;
  std::vector<std::string> without;  // of `explain`, as are the next two
  std::string cpu, memory;
  bool force = false;
  bool hash_names = false;  // of `model record`
  PlaceArguments place;
  ConfirmArguments confirm;
};

struct Invocation {
  const Arguments& arguments;
  Surroundings& around;
  std::string command = {};  // the words that the user typed for it: "keys new"
};

struct Command {
  std::string_view name;
  std::string_view help;
  void (*declare)(CLI::App& command, Arguments& arguments);  // its own options; null: none
  int (*run)(const Invocation& invocation);
};

inline constexpr int kOk = 0;
inline constexpr int kProblem = 1;
inline constexpr int kUsage = 2;
inline constexpr int kWait = 3;  // `place`: the workload should wait; run `place` again later

std::span<const Command> commands();

// Writes "wattle: COMMAND: subject: what (fix)" and returns `exit_code`.
int complain(const Invocation& invocation, Error error, int exit_code);

}  // namespace wattle::cli
