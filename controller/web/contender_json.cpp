#include "controller/web/contender_json.hpp"

#include "controller/web/cluster_json.hpp"

namespace wattle::controller {

using json = SortedJson;

json contenders_json(const std::vector<Contender>& contenders) {
  json list = json::array();
  for (const Contender& one : contenders) {
    json compared = json::array();
    for (const ComparedWith& each : one.compared)
      compared.push_back({{"with", each.with},
                          {"difference_ratio", each.difference_ratio},
                          {"blocks", each.blocks},
                          {"age_s", or_null(each.age_s)}});
    json measured = nullptr;
    if (one.measured)
      measured = {{"floor", one.measured->floor},      {"difference_ratio", one.measured->ratio},
                  {"low", or_null(one.measured->low)}, {"high", or_null(one.measured->high)},
                  {"groups", one.measured->groups},    {"wait_ratio", or_null(one.measured->wait_ratio)}};
    list.push_back({{"who", one.who},
                    {"serves", one.serves},
                    {"state", one.state ? json(stats::to_string(*one.state)) : json(nullptr)},
                    {"why", text_or_null(one.why)},
                    {"certificate", text_or_null(one.certificate)},
                    {"compared", std::move(compared)},
                    {"measured", std::move(measured)},
                    {"text", contender_text(one)}});
  }
  return list;
}

json contenders_text(const std::vector<Contender>& contenders) {
  std::string text;
  for (const Contender& one : contenders) text += (text.empty() ? "" : "; ") + contender_text(one);
  return text_or_null(text);
}

}  // namespace wattle::controller
