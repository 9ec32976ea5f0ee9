// assets: the page's files, compressed when the controller is built (web/embed.py).
// Threads  constants
#pragma once

#include <span>
#include <string_view>

namespace wattle::controller {

struct Asset {
  std::string_view path;   // "/" or "/page/..."
  std::string_view type;   // of the content
  std::string_view etag;   // quoted
  std::string_view bytes;  // gzip
};
std::span<const Asset> assets();

}  // namespace wattle::controller
