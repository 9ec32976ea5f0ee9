// model: what `wattle top` shows and what keys do to it; neither a terminal nor a controller is needed.
// Source   documents of docs/reference/api.md: {"status": {...}, "nodes": [...]} of the fleet, {"status": {...}, "node": {...}} of one node
// Errors   what a controller did not answer stands on the last line; what was known stays
// Threads  single owner
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/top/columns.hpp"
#include "cli/top/key.hpp"
#include "cli/top/picture.hpp"
#include "common/json/value.hpp"

namespace wattle::cli::top {

enum class Then { draw, ask, quit };

class Model {
 public:
  explicit Model(bool wide) : wide_(wide) {}

  // The node that is looked into; empty: the fleet. What to ask for.
  const std::string& node() const { return node_; }
  // An answer to what was asked when node() was `node`.
  void tell(const std::string& node, Result<Json> document);
  Then press(const KeyPress& pressed);
  // Moves what is seen so that the chosen row is in it.
  Picture picture(Size size);

 private:
  struct Order {
    std::size_t key = 0;
    bool turned = false;
    std::string filter;
    std::string chosen;  // name of the row; it stays chosen wherever it goes
    std::size_t at = 0;  // where it was last, for when it is gone
    std::size_t top = 0;
  };
  bool fleet() const { return node_.empty(); }
  Order& order() { return fleet() ? fleet_order_ : node_order_; }
  std::span<const SortKey> keys() const { return fleet() ? node_keys() : workload_keys(); }
  Name name_of() const { return fleet() ? node_name : workload_name; }
  std::vector<View> rows();  // filtered and in order; of document_
  void choose(const std::vector<View>& rows, std::size_t at);
  void move(std::ptrdiff_t by);
  void sort_by(std::size_t key);
  Then type(char32_t letter);
  Then type_filter(const KeyPress& pressed);
  Then back();
  Then enter();
  Line heading(std::size_t shown, std::size_t all);
  std::string about_node() const;
  Line last_line();
  void add_table(Picture& picture, const std::vector<View>& seen, std::size_t columns);

  bool wide_;
  bool known_ = false, typing_filter_ = false, help_ = false;
  std::string node_, problem_;
  Json document_ = Json::object();
  Order fleet_order_, node_order_;
  std::size_t page_ = 1;  // rows that were last seen
};

}  // namespace wattle::cli::top
