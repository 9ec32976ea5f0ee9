#include "cli/view.hpp"

#include "cli/human.hpp"

namespace wattle::cli {

namespace {
constexpr auto kFix = "check that controller and wattle have the same version";
}  // namespace

View View::operator[](std::string_view key) const {
  if (json_ == nullptr || !json_->is_object()) return {};
  const auto found = json_->find(std::string(key));
  return found == json_->end() ? View() : View(*found);
}

bool View::present() const { return json_ != nullptr && !json_->is_null(); }

std::optional<double> View::number() const {
  if (json_ == nullptr || !json_->is_number()) return std::nullopt;
  return json_->get<double>();
}

std::optional<std::string> View::integer() const {
  if (json_ == nullptr || !json_->is_number_integer()) return std::nullopt;
  return json_->dump();
}

std::optional<bool> View::flag() const {
  if (json_ == nullptr || !json_->is_boolean()) return std::nullopt;
  return json_->get<bool>();
}

std::optional<std::string> View::text() const {
  if (json_ == nullptr || !json_->is_string()) return std::nullopt;
  return json_->get<std::string>();
}

std::string View::text_or(std::string_view otherwise) const {
  const auto value = text();
  return value ? *value : std::string(otherwise);
}

OrderedJson View::json() const { return json_ == nullptr ? OrderedJson(nullptr) : *json_; }

std::string View::any() const {
  if (!present()) return std::string(kAbsent);
  if (json_->is_string()) return json_->get<std::string>();
  if (json_->is_number_float()) return cli::number(json_->get<double>(), 3);
  return json_->dump();
}

std::vector<View> View::items() const {
  std::vector<View> out;
  if (json_ != nullptr && json_->is_array())
    for (const auto& item : *json_) out.emplace_back(item);
  return out;
}

std::vector<std::pair<std::string, View>> View::members() const {
  std::vector<std::pair<std::string, View>> out;
  if (json_ != nullptr && json_->is_object())
    for (const auto& [key, value] : json_->items()) out.emplace_back(key, View(value));
  return out;
}

Result<std::vector<View>> View::list(std::string_view key) const {
  const View found = (*this)[key];
  if (found.json_ == nullptr || !found.json_->is_array())
    return fail(Errc::malformed, "the controller's answer", "contains no list '" + std::string(key) + "'", kFix);
  return found.items();
}

Result<View> View::object(std::string_view key) const {
  const View found = (*this)[key];
  if (found.json_ == nullptr || !found.json_->is_object())
    return fail(Errc::malformed, "the controller's answer", "contains no object '" + std::string(key) + "'", kFix);
  return found;
}

std::string count(const View& value) { return value.integer().value_or(count(value.number())); }

}  // namespace wattle::cli
