// label_selector: parses a label selector in kubectl's notation, and matches labels against it.
// Source   https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
// Accepts  requirements separated by commas: key=value, key==value, key!=value, key, !key, key in (a, b),
//          key notin (a, b), key>8, key<8. != and notin also match labels without the key; > and < match whole numbers
// Errors   malformed, naming the requirement and a fix
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::kube {

class LabelSelector {
 public:
  // `subject` names the argument in errors. An empty text matches everything.
  static Result<LabelSelector> parse(std::string_view text, const std::string& subject);
  bool matches(const std::map<std::string, std::string>& labels) const;
  bool empty() const { return requirements_.empty(); }

 private:
  enum class Kind : std::uint8_t { exists, absent, in, not_in, above, below };
  struct Requirement {
    Kind kind = Kind::exists;
    std::string key;
    std::vector<std::string> values;
  };
  static Result<Requirement> requirement_of(std::string_view text, const std::string& subject);
  std::vector<Requirement> requirements_;
};

}  // namespace wattle::kube
