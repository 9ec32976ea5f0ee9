// key: what somebody typed, whatever the terminal calls it.
// Threads  values
#pragma once

namespace wattle::cli::top {

enum class Key { text, up, down, page_up, page_down, first, last, enter, escape, backspace };

struct KeyPress {
  Key key = Key::text;
  char32_t text = 0;  // of Key::text, a code point
};

}  // namespace wattle::cli::top
