// former_names: names of the previous version that have changed. A former configuration key is accepted with a warning;
// a former metric or document field is published beside the new one. Both last one minor version
// (docs/reference/former-names.md lists them; tests compare).
// Threads  constants
#pragma once

#include <array>
#include <string_view>

namespace wattle {

struct FormerName {
  std::string_view former;
  std::string_view now;  // empty: the key has no effect
};

// Configuration keys, each with its path.
inline constexpr std::array kFormerKeys{
    FormerName{"bpf.run_queue_histogram", ""},
    FormerName{"canary.dropped", "canary.washout"},
    FormerName{"decide.prove_first", "decide.require_evidence"},
};

// Names of metrics.
inline constexpr std::array kFormerMetrics{
    FormerName{"wattle_controller_contest_blocks_total", "wattle_controller_network_gate_blocks_total"},
    FormerName{"wattle_controller_contest_difference_ratio", "wattle_controller_network_gate_difference_ratio"},
    FormerName{"wattle_controller_contest_evidence", "wattle_controller_network_gate_evidence"},
    FormerName{"wattle_controller_contest_limit", "wattle_controller_network_gate_limit"},
    FormerName{"wattle_controller_guard_level", "wattle_controller_regression_level"},
    FormerName{"wattle_controller_guard_limit", "wattle_controller_regression_limit"},
    FormerName{"wattle_controller_guard_ready", "wattle_controller_regression_ready"},
    FormerName{"wattle_controller_network_left_out", "wattle_controller_network_gated"},
};

// Fields of JSON documents: document and path.
inline constexpr std::array kFormerFields{
    FormerName{"policy/block/dropped_s", "policy/block/washout_s"},
    FormerName{"policy/guard", "policy/regression"},
    FormerName{"policy/saving/blocks_dropped", "policy/saving/blocks_unused"},
    FormerName{"status/left_out", "status/withheld"},
    FormerName{"status/network_left_out", "status/network_gated"},
};

}  // namespace wattle
