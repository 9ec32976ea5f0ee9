// `wattle provision replicas`: lists workloads with a known request rate, the number of replicas that the rate needs,
// and the owner of that number.

#include "cli/human.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"

namespace wattle::cli {
namespace {

Tone tone_of_replicas(const std::string& state) {
  if (state == "fewer") return Tone::good;
  if (state == "more" || state == "unknown") return Tone::warning;
  return state == "learning" || state == "owned" ? Tone::faint : Tone::plain;
}

}  // namespace

Result<std::string> render_replicas(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> rows, view.list("workloads"));
  if (view["replicas"].flag() != true)
    return std::string("suggestions for replicas are disabled (enable them with provisioning.replicas: suggest)\n");
  if (rows.empty())
    return std::string(
        "no request rates known yet (see provisioning.prometheus and `wattle provision why WORKLOAD`)\n");
  Table table{{"WORKLOAD", ">REPLICAS", ">WOULD BE", ">TEACHER", ">REQ/S", ">NEXT", ">UP TO", ">EACH", ">AIM", "STATE",
               "OWNER"},
              {}};
  for (const View& row : rows) {
    const View replicas = row["replicas"];
    const std::string state = replicas["state"].text_or();
    table.rows.push_back({row["workload"].text_or(), count(replicas["now"]), count(replicas["suggested"]),
                          count(replicas["teacher"]["suggested"]), number(replicas["rate_rps"], 1),
                          number(replicas["expected_rps"], 1), number(replicas["expected_high_rps"], 1),
                          number(replicas["replica_rps"], 1), percent(replicas["aim_ratio"]),
                          Cell{state, tone_of_replicas(state)}, replicas["owner"].text_or()});
  }
  std::string text = to_text(table, style.colour);
  if (view["more"].number().value_or(0) > 0) text += count(view["more"]) + " more (show them with --limit)\n";
  return text;
}

}  // namespace wattle::cli
