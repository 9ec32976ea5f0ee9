// html: inserts the JSON into report.html.
#include "lab/report/report_page.hpp"
#include "lab/report/suite.hpp"

namespace wattle::sim::suite {

std::string to_html(const std::string& json) {
  // Within a script element only "</" could end it early. In JSON that can only be in a string, where \/ means the
  // same.
  std::string data;
  data.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '/' && i > 0 && json[i - 1] == '<') data += '\\';
    data += json[i];
  }
  const std::string_view page = report_page(), mark = "@DATA@";
  const std::size_t at = page.find(mark);
  return std::string(page.substr(0, at)) + data + std::string(page.substr(at + mark.size()));
}

}  // namespace wattle::sim::suite
