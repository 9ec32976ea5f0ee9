// model: the content of `wattle top` and its reaction to keys; needs neither a terminal nor a controller.
// Source   documents of docs/reference/api.md: {"status": {...}, "nodes": [...]} of the fleet, {"status": {...},
//          "node": {...}} of one node
// Errors   the last line shows why a controller did not answer; the last documents stay
// Threads  single owner
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/top/columns.hpp"
#include "cli/top/key.hpp"
#include "cli/top/picture.hpp"

namespace wattle::cli::top {

enum class Then { draw, ask, quit };

class Model {
 public:
  explicit Model(bool wide) : wide_(wide) {}

  // The selected node; empty: the fleet. The feeder fetches this document.
  const std::string& node() const { return node_; }
  // Takes the answer to a request that was sent while node() was `node`.
  void report(const std::string& node, Result<Json> document);
  Then press(const KeyPress& pressed);
  // Scrolls so that the chosen row is visible.
  Picture picture(Size size);

 private:
  struct Order {
    std::size_t key = 0;
    bool turned = false;
    std::string filter;
    std::string chosen;  // name of the row; stays chosen when the row moves
    std::size_t at = 0;  // last position, used after the row was removed
    std::size_t top = 0;
  };
  bool fleet() const { return node_.empty(); }
  Order& order() { return fleet() ? fleet_order_ : node_order_; }
  std::span<const SortKey> keys() const { return fleet() ? node_keys() : workload_keys(); }
  Name name_of() const { return fleet() ? node_name : workload_name; }
  std::vector<View> rows();  // filtered and sorted rows of document_
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
  std::size_t page_ = 1;  // number of rows last shown
};

}  // namespace wattle::cli::top
