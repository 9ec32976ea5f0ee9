// json_path: selects values of a document by a path in kubectl's JSONPath, for -o jsonpath and --sort-by.
// Source   https://kubernetes.io/docs/reference/kubectl/jsonpath/
// Accepts  $, @ or nothing at the start; .name, ['name'], [2], [-1], [1:3], [*], .* and filters such as
//          [?(@.connected == false)] with ==, !=, <, <=, >, >= and a text, number, true, false or null. A filter
//          without a comparison keeps values that have the path. "\." is a dot in a name
// Errors   malformed, with the position in the text and a fix; recursive descent (..) is refused
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

class JsonPath {
 public:
  enum class Kind : std::uint8_t { key, index, slice, all, filter };
  enum class Compare : std::uint8_t { exists, equal, unequal, less, at_most, more, at_least };
  struct Step {
    Kind kind = Kind::key;
    std::string key;
    std::optional<std::int64_t> first, last;  // index: first; slice: from first to before last; negative: from the end
    std::vector<Step> of;                     // filter: path below each value
    Compare compare = Compare::exists;
    OrderedJson with;        // filter: the right-hand side
    std::size_t column = 0;  // from 1, in the user's text
  };

  // `subject` names the option in errors; `before`: characters of the user's text before `text`.
  static Result<JsonPath> parse(std::string_view text, const std::string& subject, std::size_t before = 0);

  // Values in the order of the document. `at`: the value of the innermost {range}; the root outside.
  std::vector<const OrderedJson*> of(const OrderedJson& root, const OrderedJson& at) const;
  // Describes the first key that no value has, with the keys that exist; unset if the path selects something, or if
  // the document has no values there.
  std::optional<Error> unknown_key(const OrderedJson& root) const;

 private:
  std::string subject_;
  bool from_root_ = false;  // begins with $
  std::vector<Step> steps_;
};

}  // namespace wattle::cli
