// parts: pieces that several commands show alike.
// Source   objects of docs/reference/api.md
// Errors   none: what is absent is "-"
// Threads  any
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

// The controller gives no pod to a node whose telemetry is older (its default).
inline constexpr double kStaleAge_ms = 10'000;
// Share of the time stalled from which pressure is worth a look.
inline constexpr double kPressure_ratio = 0.10;

// "up", "stale" or "away", and its tone; names and ages take the tone too.
Cell state_cell(const View& node);
Cell pressure_cell(std::optional<double> ratio);
// "users 4.1 ms", the first target that answered; "users lost" when none did.
Cell latency_cell(const View& node);
inline const std::string kNoNodes = "no nodes yet: no agent has said hello\n";
Table nodes_table(const std::vector<View>& nodes, bool wide);
Table pods_table(const std::vector<View>& pods, const Sources& sources, bool wide);
// What was found, below the places where; places that found the same are told together. Those that are ok only in wide output.
class FindingsText {
 public:
  explicit FindingsText(const Style& style) : style_(style) {}
  void add(const std::string& where, const std::vector<View>& findings);
  std::string text() const;  // each group behind an empty line; empty: there is nothing to tell

 private:
  Style style_;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;  // what, where; in the order told
};
// "default/web-1"; the UID when nobody told a name.
std::string pod_label(const View& name, const View& name_space, const View& uid);
// "subject: what (mend)"; not yet printable.
std::string error_text(const Error& error);
// Of a document's `modelled`: "acting would draw about 322 W instead of 389, -17% [-20, -14], waiting 0.3% instead of 0.2%; modelled, not
// calibrated", or by how many blocks of canary it was put right.
std::string modelled_text(const View& modelled);
// Of a document's `cpu_wait` and `late`: "at most 1.0% of pods' time, by what the default scheduler had; measured 0.8%, default scheduler
// 0.5%, price 3.1 W a core"; one that is exceeded says by how much and is marked, one that is not in force says so.
Cell waiting_cell(const View& cpu_wait);
Cell late_cell(const View& late);
// Of the document `status`: "812.5 W, of which 22.3 W est".
std::string power_text(const View& status);
// Mode, watts and what is decided, of the document `status`, in a line.
std::string status_line(const View& status);
// Name and value in two columns; a value may have several words.
std::string pairs_text(const std::vector<std::pair<std::string, Cell>>& pairs, bool colour);
// "NAME=NUMBER" each, as arguments weight.NAME of a query.
Status add_weights(const std::vector<std::string>& given, std::map<std::string, std::string>& arguments);
std::string joined(const std::vector<std::string>& words, std::string_view between);

}  // namespace wattle::cli
