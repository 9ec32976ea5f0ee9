// json_template: the output of -o jsonpath=TEMPLATE: text with paths in braces, as in kubectl.
// Source   {.nodes[*].name}, {range .nodes[*]}{.name}{"\n"}{end}, {"text"}; several values are separated by spaces
// Gives    text unchanged, numbers and booleans as in JSON, nothing for null and for keys that an object lacks, compact
//          JSON for lists and objects. Control characters of the document become "?"
// Errors   malformed, with the column and a fix; a key that no object of the document has
// Threads  values
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/json_path.hpp"

namespace wattle::cli {

class JsonTemplate {
 public:
  static Result<JsonTemplate> parse(std::string_view text);
  Result<std::string> text_of(const OrderedJson& document) const;

  struct Part {
    std::string text;  // literal, if there is no path
    std::optional<JsonPath> path;
    bool range = false;  // prints `body` for each value of the path
    std::vector<Part> body;
  };

 private:
  std::vector<Part> parts_;
};

}  // namespace wattle::cli
