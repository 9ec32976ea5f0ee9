#include "cli/commands.hpp"

#include <array>

namespace wattle::cli {

namespace {
constexpr std::array kCommands{
    Command{"nodes", "Show every node: use, pressure, watts, pods, latency", nullptr, run_nodes},
    Command{"keys", "Make key pairs and say whose key may do what", declare_keys, run_keys},
    Command{"completion", "Print a completion script for a shell", declare_completion, run_completion},
};
}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace wattle::cli
