// command: the interface of `wattle` commands: options of all commands, environment, outcome, and the rows of tables of
// commands.
// Errors   a command returns its error with an exit code, and run_app prints it
// Threads  main only
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/result.hpp"

namespace CLI {
class App;
}

namespace wattle::cli {

class JsonTemplate;
enum class Output { table, wide, json, yaml, name, jsonpath };

// The process's environment, injected so that tests can inspect it.
struct Surroundings {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;                                            // `out` is a terminal
  std::function<std::optional<std::string>(const char*)> variable;  // of the environment
  std::string name = "wattle";                                      // the name that the user typed
  bool keyboard = false;                                            // standard input is a terminal
  std::size_t columns = 0;                                          // of the terminal; 0: `out` is no terminal
};

// The API server, for commands that need one, and for the way to a controller in its cluster.
struct ClusterOptions {
  std::string kubeconfig, context;  // empty: not given
  bool given() const { return !kubeconfig.empty() || !context.empty(); }
};

// The options that all commands share. Each command has a struct for its other options.
struct CommonOptions {
  std::string server, feed, key, server_key, timeout;  // empty: as configured
  ClusterOptions cluster;
  std::string controller_namespace = "wattle";
  bool as_operator = false;  // use the operator's key of the cluster
  Output output = Output::table;
  std::shared_ptr<const JsonTemplate> jsonpath;  // with Output::jsonpath
};

struct Invocation {
  const CommonOptions& common;
  Surroundings& around;
  std::string command = {};  // the words that the user typed for it: "keys new"
};

inline constexpr const char* kKubectlPlugin = "kubectl wattle";  // name of the program as a plugin

inline constexpr int kOk = 0;
inline constexpr int kProblem = 1;
inline constexpr int kUsage = 2;
inline constexpr int kWait = 3;  // `place`: the workload should wait; run `place` again later

// An error that ends a command, and its exit code.
struct Failure {
  Failure(Error e, int code = kProblem) : error(std::move(e)), exit_code(code) {}
  Error error;
  int exit_code;
};
using Outcome = tl::expected<int, Failure>;  // an exit code, or a failure

// Failures of usage and configuration.
inline tl::unexpected<Failure> misuse(Error error) {
  return tl::unexpected<Failure>(Failure(std::move(error), kUsage));
}
template <class T>
tl::expected<T, Failure> as_misuse(Result<T> result) {
  return std::move(result).map_error([](Error error) { return Failure(std::move(error), kUsage); });
}

// For a command whose malformed inputs all come from the user.
inline Outcome misuse_if_malformed(Status done) {
  if (done) return kOk;
  return done.error().code == Errc::malformed ? Outcome(misuse(std::move(done.error()))) : Outcome(forward_error(done));
}

using Run = std::function<Outcome(const Invocation& invocation)>;

// A row of a table of commands.
struct Command {
  std::string_view name;
  std::string_view help;
  // Adds the options or commands of `command`. If the user types the command, parsing sets `chosen` to its work.
  void (*declare)(CLI::App& command, Run& chosen);
};

std::span<const Command> commands();

// Writes "wattle: COMMAND: subject: what (fix)".
void complain(const Invocation& invocation, Error error);

}  // namespace wattle::cli

namespace wattle {
// Used by WATTLE_TRY and WATTLE_CHECK.
template <class T>
tl::unexpected<cli::Failure> forward_error(tl::expected<T, cli::Failure>& result) {
  return tl::unexpected<cli::Failure>(std::move(result.error()));
}
}  // namespace wattle
