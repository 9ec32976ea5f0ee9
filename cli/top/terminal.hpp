// terminal: the screen and keyboard of somebody who sits before a terminal: the only home of ncurses.
// Source   the terminal of standard input and output, as TERM names it
// Errors   not_found: TERM names none that can move its cursor
// Threads  single owner, one at a time
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "cli/top/key.hpp"
#include "cli/top/picture.hpp"
#include "common/result.hpp"

namespace wattle::cli::top {

class Terminal {
 public:
  // Takes the screen until this is gone; then it is as it was.
  static Result<Terminal> open_(bool colour);
  Terminal(Terminal&&) noexcept;
  Terminal& operator=(Terminal&&) noexcept;
  ~Terminal();

  // Follows the window: another size from one call to the next is a reason to draw.
  Size size() const;
  void show(const Picture& picture);
  // What was typed; nothing: nothing that is meant for us.
  std::optional<KeyPress> read();

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);
  std::unique_ptr<Screen> screen_;
};

}  // namespace wattle::cli::top
