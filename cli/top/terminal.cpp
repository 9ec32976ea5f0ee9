#include "cli/top/terminal.hpp"

#include <curses.h>
#include <langinfo.h>

#include <clocale>
#include <cstdlib>
#include <cstring>

namespace wattle::cli::top {

namespace {
constexpr int kEscapeWait_ms = 25;  // after ESC: waits for the rest of a key's sequence

short pair_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return COLOR_GREEN;
    case Tone::warning:
      return COLOR_YELLOW;
    case Tone::bad:
      return COLOR_RED;
    case Tone::plain:
    case Tone::faint:
      return 0;
  }
  return 0;
}

std::optional<Key> key_of(int code) {
  switch (code) {
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::first;
    case KEY_END:
      return Key::last;
    case KEY_ENTER:
    case KEY_RIGHT:
      return Key::enter;
    case KEY_BACKSPACE:
    case KEY_LEFT:
      return Key::backspace;
    default:
      return std::nullopt;
  }
}

std::optional<KeyPress> typed(wint_t c) {
  if (c == L'\r' || c == L'\n') return KeyPress{Key::enter};
  if (c == 27) return KeyPress{Key::escape};
  if (c == 8 || c == 127) return KeyPress{Key::backspace};
  if (c < 32) return std::nullopt;
  return KeyPress{Key::text, static_cast<char32_t>(c)};
}
}  // namespace

struct Terminal::Screen {
  explicit Screen(SCREEN* s) : screen(s) {}
  ~Screen() {
    endwin();
    delscreen(screen);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  SCREEN* screen;
  bool colour = false;
};

Terminal::Terminal(std::unique_ptr<Screen> screen) : screen_(std::move(screen)) {}
Terminal::Terminal(Terminal&&) noexcept = default;
Terminal& Terminal::operator=(Terminal&&) noexcept = default;
Terminal::~Terminal() = default;

Result<Terminal> Terminal::open_(bool colour) {
  // Names are UTF-8 regardless of LANG, as in every other command.
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* term = std::getenv("TERM");
    return fail(Errc::not_found, "TERM", "unknown terminal: '" + std::string(term == nullptr ? "" : term) + "'",
                "set TERM, or run `wattle top | cat`");
  }
  auto own = std::make_unique<Screen>(screen);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeWait_ms);
  curs_set(0);
  own->colour = colour && has_colors() && start_color() == OK;
  if (own->colour) {
    use_default_colors();
    for (const Tone tone : {Tone::good, Tone::warning, Tone::bad}) init_pair(pair_of(tone), pair_of(tone), -1);
  }
  return Terminal(std::move(own));
}

Size Terminal::size() const {
  return {static_cast<std::size_t>(getmaxy(stdscr)), static_cast<std::size_t>(getmaxx(stdscr))};
}

void Terminal::show(const Picture& picture) {
  ::werase(stdscr);
  for (std::size_t i = 0; i < picture.size(); ++i) {
    ::wmove(stdscr, static_cast<int>(i), 0);
    for (const Span& span : picture[i]) {
      attr_t looks = A_NORMAL;
      if (span.bold) looks |= A_BOLD;
      if (span.reverse) looks |= A_REVERSE;
      if (span.tone == Tone::faint) looks |= A_DIM;
      wattr_set(stdscr, looks, screen_->colour ? pair_of(span.tone) : short{0}, nullptr);
      ::waddnstr(stdscr, span.text.c_str(), -1);
    }
  }
  wattr_set(stdscr, A_NORMAL, 0, nullptr);
  ::wrefresh(stdscr);
}

std::optional<KeyPress> Terminal::read() {
  wint_t c = 0;
  const int kind = ::wget_wch(stdscr, &c);
  if (kind == ERR) return std::nullopt;
  if (kind != KEY_CODE_YES) return typed(c);
  const auto key = key_of(static_cast<int>(c));
  return key ? std::optional(KeyPress{*key}) : std::nullopt;
}

}  // namespace wattle::cli::top
