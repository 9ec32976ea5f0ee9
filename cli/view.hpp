// view: reads a controller's document safely: values that are missing, null or of another type are absent.
// Source   a parsed document, which must outlive the view
// Errors   list() and object(): malformed, naming the key; all else is absent
// Threads  any
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

using Json = OrderedJson;

class View {
 public:
  View() = default;
  explicit View(const OrderedJson& json) : json_(&json) {}

  View operator[](std::string_view key) const;
  bool present() const;  // there, and not null
  std::optional<double> number() const;
  operator std::optional<double>() const { return number(); }  // for the functions of cli/human.hpp
  // An integer with all digits: ids and counts have 64 bits, but a double holds only 53.
  std::optional<std::string> integer() const;
  std::optional<bool> flag() const;
  std::optional<std::string> text() const;
  std::string text_or(std::string_view otherwise = "-") const;
  // The value of any type as text, for maps whose values have no fixed type.
  std::string any() const;
  OrderedJson json() const;  // null if there is no value
  std::vector<View> items() const;
  std::vector<std::pair<std::string, View>> members() const;

  // Required members: an error if missing.
  Result<std::vector<View>> list(std::string_view key) const;
  Result<View> object(std::string_view key) const;

 private:
  const OrderedJson* json_ = nullptr;
};

// Renders a count or an id with all digits; "-" if there is no value.
std::string count(const View& value);

}  // namespace wattle::cli
