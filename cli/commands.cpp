#include "cli/commands.hpp"

#include <array>

namespace wattle::cli {

namespace {
constexpr std::array kCommands{
    Command{"nodes", "Show all nodes with use, pressure, power, pods and latency", declare_nodes},
    Command{"node", "Show one node with its findings, energy domains and workloads", declare_node},
    Command{"pods", "Show pods, sorted by CPU use", declare_pods},
    Command{"pod", "Show one pod with the power of each of its containers", declare_pod},
    Command{"top", "Show the controller's state, nodes and pods, sorted by power", declare_top},
    Command{"decisions", "Show recent decisions and their outcomes", declare_decisions},
    Command{"report", "Show the energy and CPU time used by namespace, owner, node, label or container",
            declare_report},
    Command{"savings", "Show the savings available on the cluster, the largest first, and the commands that apply them",
            declare_savings},
    Command{"provision", "Show the requests and needs of workloads, and set requests to suggested values",
            declare_provision},
    Command{"sleep", "Show which nodes sleep or could sleep, wake them, and exclude nodes", declare_sleep},
    Command{"explain", "Explain why a pod was placed on its node", declare_explain},
    Command{"place", "Get a node for a workload that Kubernetes does not schedule", declare_place},
    Command{"confirm", "Report the node on which a placed workload was started", declare_confirm},
    Command{"done", "Report the end of a confirmed workload that Wattle cannot observe", declare_done},
    Command{"doctor", "Check the installation and report each problem with its fix; exit 1 if there is one",
            declare_doctor},
    Command{"gaps", "Show samples that are missing from the controller's store", declare_gaps},
    Command{"dashboard", "Print the address of the controller's page, and open it in a browser", declare_dashboard},
    Command{"status", "Show the state of the controller", declare_status},
    Command{"policy", "Show or change mode, policy and reward", declare_policy},
    Command{"model", "List, save, load or compare networks", declare_model},
    Command{"keys", "Create key pairs, and allow or revoke keys", declare_keys},
    Command{"join", "Make this machine a node: create keys, enrol, write the configuration and start the agent",
            declare_join},
    Command{"install", "Print the manifests of Wattle for `kubectl apply -f -`", declare_install},
    Command{"up", "Start a controller, an agent and a shim on this machine to try Wattle", declare_up},
    Command{"down", "Stop the processes of `wattle up` and remove its folder", declare_down},
    Command{"backup", "Write the state of a running controller to one file", declare_backup},
    Command{"restore", "Restore a backup of a stopped controller", declare_restore},
    Command{"completion", "Print a completion script for a shell", declare_completion},
    Command{"version", "Show the versions of this program and of the controller", declare_version},
    Command{"help", "Show the help of a command", declare_help},
};
}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace wattle::cli
