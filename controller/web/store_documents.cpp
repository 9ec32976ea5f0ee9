#include "controller/web/store_documents.hpp"

#include "controller/web/decision_history.hpp"
#include "controller/web/record_json.hpp"
#include "controller/web/usage_json.hpp"

namespace wattle::controller {

bool is_of_store(const std::string& what, const std::map<std::string, std::string>& arguments) {
  return what == "report" || is_record(what, arguments) || is_history(what, arguments);
}

Result<std::future<Result<std::string>>> ask_store(Store& store, const std::string& what,
                                                   const std::map<std::string, std::string>& arguments, WallTime now,
                                                   const Tariff& tariff) {
  if (what == "record") return ask_record(store, arguments, now);
  return what == "report" ? ask_report(store, arguments, now, tariff) : ask_history(store, arguments, now);
}

}  // namespace wattle::controller
