// json_path_parse: reads the steps of a JsonPath.
// Errors   malformed, with the column of the user's text and a fix
// Threads  single owner
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/json_path.hpp"

namespace wattle::cli {

class JsonPathReader {
 public:
  JsonPathReader(std::string_view text, const std::string& subject, std::size_t before)
      : text_(text), subject_(subject), before_(before) {}
  bool take(std::string_view expected);
  // Reads steps until the end of the text, or until a character that cannot begin a step.
  Result<std::vector<JsonPath::Step>> steps();
  bool at_end() const { return at_ == text_.size(); }
  tl::unexpected<Error> wrong(const std::string& what, const std::string& fix) const;

 private:
  Result<JsonPath::Step> after_dot();
  Result<JsonPath::Step> in_brackets();
  Result<JsonPath::Step> filter();
  Result<OrderedJson> literal();
  Result<std::string> quoted();
  Status index_or_slice(JsonPath::Step& step);
  Result<std::optional<std::int64_t>> whole_number();
  void skip_blanks();
  std::size_t column() const { return before_ + at_ + 1; }

  std::string_view text_;
  const std::string& subject_;
  std::size_t before_, at_ = 0, depth_ = 0;
};

}  // namespace wattle::cli
