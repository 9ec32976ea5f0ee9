#include "cli/commands.hpp"

#include <array>

namespace wattle::cli {

namespace {
constexpr std::array kCommands{
    Command{"nodes", "Show every node: use, pressure, watts, pods, latency", nullptr, run_nodes},
    Command{"node", "Show one node with its findings, energy domains and workloads", declare_node, run_node},
    Command{"pods", "Show pods, the busiest first", declare_pods, run_pods},
    Command{"pod", "Show one pod, and what each of its containers draws", declare_pod, run_pod},
    Command{"top", "Show the controller's state, and nodes and pods, those that draw most first", declare_top, run_top},
    Command{"watch", "Show nodes, pods or decisions as they change, until Ctrl-C", declare_watch, run_watch},
    Command{"decisions", "Show the newest decisions and what became of them", declare_decisions, run_decisions},
    Command{"report", "Show what namespaces, owners, nodes, values of a label or containers used", declare_report,
            run_report},
    Command{"provision", "Show what workloads request and need, and what other requests would free", declare_provision,
            run_provision},
    Command{"explain", "Tell why a pod was placed where it was", declare_explain, run_explain},
    Command{"place", "Ask where to start a workload that no Kubernetes schedules", declare_place, run_place},
    Command{"confirm", "Report where a placed workload was started; it counts there until it ends", declare_confirm,
            run_confirm},
    Command{"done", "Report that a confirmed workload has ended, where Wattle cannot see its end", declare_done,
            run_done},
    Command{"doctor", "Tell what does not work, and the mend; exit 1 if anything must be mended", declare_doctor,
            run_doctor},
    Command{"gaps", "Show samples that never came to the controller's store", declare_gaps, run_gaps},
    Command{"status", "Show what the controller does", nullptr, run_status},
    Command{"policy", "Show or change mode, policy and reward", declare_policy, run_policy},
    Command{"model", "List, save, load or compare networks", declare_model, run_model},
    Command{"keys", "Make key pairs and say whose key may do what", declare_keys, run_keys},
    Command{"token", "Make a token with which one machine joins: wattle join -", declare_token, run_token},
    Command{"join", "Make this machine a node: keys, enrolment, configuration, unit, first sample", declare_join,
            run_join},
    Command{"up", "Run a controller, an agent and a shim on this machine, to try Wattle", declare_up, run_up},
    Command{"down", "End what `wattle up` started, and leave nothing of it", declare_up, run_down},
    Command{"backup", "Write what a running controller must not lose into one file", declare_backup, run_backup},
    Command{"restore", "Put a backup into its places, for a controller that is stopped", declare_restore, run_restore},
    Command{"completion", "Print a completion script for a shell", declare_completion, run_completion},
};
}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace wattle::cli
