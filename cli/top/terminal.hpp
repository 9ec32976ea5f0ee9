// terminal: draws on the user's terminal and reads its keys; the only user of ncurses.
// Source   the terminal of standard input and output, as TERM names it
// Errors   not_found: TERM names no terminal that can move its cursor
// Threads  single owner, one at a time
#pragma once

#include <memory>
#include <optional>

#include "cli/top/key.hpp"
#include "cli/top/picture.hpp"
#include "common/result.hpp"

namespace wattle::cli::top {

class Terminal {
 public:
  // Takes over the screen; the destructor restores it.
  static Result<Terminal> open_(bool colour);
  Terminal(Terminal&&) noexcept;
  Terminal& operator=(Terminal&&) noexcept;
  ~Terminal();

  // Current size of the window; draw again if it differs from the last one.
  Size size() const;
  void show(const Picture& picture);
  // Returns a pressed key; no value if there is none for us.
  std::optional<KeyPress> read();

 private:
  struct Screen;
  explicit Terminal(std::unique_ptr<Screen> screen);
  std::unique_ptr<Screen> screen_;
};

}  // namespace wattle::cli::top
