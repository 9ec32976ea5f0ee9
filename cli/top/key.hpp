// key: a pressed key, independent of the terminal's codes.
// Threads  values
#pragma once

namespace wattle::cli::top {

enum class Key { text, up, down, page_up, page_down, first, last, enter, escape, backspace };

struct KeyPress {
  Key key = Key::text;
  char32_t text = 0;  // for Key::text, a code point
};

}  // namespace wattle::cli::top
