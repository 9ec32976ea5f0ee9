// `wattle provision margins`: lists services whose nodes set their CPU limits, the teacher's advice about their
// margins, and its verdict.

#include <algorithm>

#include "cli/human.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/parse.hpp"

namespace wattle::cli {
namespace {

// Renders the range of request rates in nine of ten minutes.
std::string expected_of(const View& expected) {
  if (!expected.present()) return "-";
  return number(expected["low_rps"], 0) + ".." + number(expected["high_rps"], 0);
}

// Renders the replicas of a pod's workload, with the teacher's suggestion: "3", "3 to 4".
std::string replicas_of(const View& row) {
  const View replicas = row["replicas"];
  if (!replicas.present()) return "-";
  const auto now = static_cast<long>(replicas["now"].number().value_or(0));
  const std::string action = row["teacher"]["action"].text_or();
  const long then = action == "replicas_up" ? now + 1 : action == "replicas_down" ? now - 1 : now;
  return std::to_string(now) + (then == now ? "" : " to " + std::to_string(then));
}

std::string spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

std::string lines_of(const std::string& text) {
  std::string lines;
  parse::for_each_line(text, [&lines](std::string_view line) { lines += wrapped(std::string(line), 0); });
  return lines;
}

}  // namespace

Result<std::string> render_margins(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> rows, view.list("services"));
  std::string text = "Mode " + view["mode"].text_or() + ": " + view["verdict"].text_or() + ".\n";
  if (const auto withheld = view["replicas_withheld"].text())
    text += "It chooses among CPU and memory, not replicas: " + *withheld + ".\n";
  if (const View learned = view["learned"]; learned.present()) {
    text += count(learned["steps"]) + " gradient steps on " + count(learned["replay"]) + " recorded minutes";
    if (const auto problem = learned["problem"].text()) text += "; " + *problem;
    text += ".\n";
  }
  if (const View student = view["student"]; student.present()) {  // older controllers do not send it
    text +=
        "Student " + (student["version"].number().value_or(0) > 0 ? count(student["version"]) + ", " : std::string());
    text += spaced(student["state"].text_or()) + ": " + student["why"].text_or();
    if (const View agreement = student["agreement"]; agreement.present())
      text += "; repeats " + percent(agreement["student_ratio"]) + " of its teacher's choices, throttling " +
              percent(agreement["rule_ratio"]);
    text += ".\n";
  }
  if (const View prometheus = view["prometheus"]; prometheus.present()) {
    WATTLE_TRY(const std::vector<View> queries, prometheus.list("queries"));
    for (const View& query : queries) {
      text += "Prometheus " + prometheus["url"].text_or() + ", " + query["key"].text_or() + ": ";
      text += query["age_s"].number() ? count(query["series"]) + " workloads, " + number(query["age_s"], 0) + " s ago"
                                      : std::string("no answer yet");
      if (const auto problem = query["problem"].text()) text += "; " + *problem;
      text += ".\n";
    }
  }
  if (view["out"].present()) {  // older controllers do not send it
    WATTLE_TRY(const std::vector<View> out, view.list("out"));
    for (const View& each : out)
      text += "Withdrawn for " + each["service"].text_or() + " of " + each["node"].text_or() + ": the " +
              each["who"].text_or() + ".\n";
  }
  if (rows.empty())
    return lines_of(text) +
           "no agent reports a service at level limits (provisioning.limits in the agent's configuration)\n";
  Table table{{"NODE", "SERVICE", ">REQ/S", ">NEXT", "BY", ">LATE", ">USED", ">GRANTED", ">MARGIN", ">RULE", ">TEACHER",
               ">MEM-MARGIN", ">MEM-TEACHER", ">REPLICAS", ">GAIN", "SERVES", "WHY"},
              {}};
  for (const View& row : rows)
    table.rows.push_back({row["node"].text_or(), row["workload"].text_or(row["service"].text_or()),
                          number(row["requests_per_s"], 1), expected_of(row["expected"]), row["requests_by"].text_or(),
                          percent(row["over_ratio"]), number(row["used_cores"], 3), number(row["granted_cores"], 3),
                          number(row["margin_ratio"], 3), number(row["rule"]["margin_ratio"], 3),
                          number(row["teacher"]["margin_ratio"], 3), number(row["memory"]["margin_ratio"], 3),
                          number(row["teacher"]["memory_margin_ratio"], 3), replicas_of(row), number(row["gain"], 3),
                          row["next"].text_or(), row["why"].text_or()});
  text = lines_of(text) + to_text(table, style.colour);
  if (view["more"].number().value_or(0) > 0) text += count(view["more"]) + " more (show them with --limit)\n";
  return text;
}

}  // namespace wattle::cli
