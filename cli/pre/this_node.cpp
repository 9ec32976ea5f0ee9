#include "cli/pre/live.hpp"
#include "cli/process.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

Result<std::vector<Finding>> findings_of_agent(const std::string& text) {
  const OrderedJson document = OrderedJson::read(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const View view(document);
  if (!document.is_object() || !view["findings"].present())
    return fail(Errc::malformed, "wattle-agent doctor", "returned no findings",
                "check that it has the same version as wattle");
  Findings out(view["node_name"].text_or("this machine"));
  for (const View& finding : view["findings"].items()) {
    const bool ok = finding["state"].text() == "ok" || finding["state"].text() == "absent",
               optional = finding["optional"].flag().value_or(true);
    out.add(finding["source"].text_or(),
            ok         ? State::ok
            : optional ? State::warn
                       : State::failed,
            finding["why"].text_or(""), finding["fix"].text_or(""));
  }
  return std::move(out).all();
}

Result<std::vector<Finding>> examine_this_node(const std::string& program) {
  auto ran = output_of({program, "doctor", "-o", "json"}, {});
  if (ran) return findings_of_agent(ran->said);  // its exit code adds no information
  ran.error().fix = "install it on this machine, or run the command on a node with an agent";
  return forward_error(ran);
}

}  // namespace wattle::cli
