// page: the HTTP routes of the page: its files, who may see its data, and the stream of what happens.
// Rules    files are public; data is not where `http.token_file` is set: the token is shown once and exchanged for a cookie that scripts
//          cannot read and other sites cannot send. What changes something needs the header that only a script of this page can set;
//          what changes something of the cluster needs much more (page_change.hpp)
// Errors   none: statuses
// Threads  any
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/clock.hpp"
#include "common/http/broadcast.hpp"
#include "common/http/server.hpp"
#include "common/http/token.hpp"
#include "controller/web/page_change.hpp"

namespace wattle::controller {

inline constexpr std::string_view kPagePass = "/page/pass";
inline constexpr std::string_view kPageChange = "/page/change";
inline constexpr std::string_view kPageLive = "/api/v1/live";

struct PageParts {
  std::optional<http::Token> token;  // nullopt: nobody is asked for one
  bool secure = false;               // served by TLS
  std::shared_ptr<http::Broadcast> live;
  const Clock& clock;
  std::optional<http::Token> operators = {};  // nullopt: the page changes nothing
  MakeChange change = {};
};
void add_page(http::Routes& routes, std::set<std::string>& open_paths, PageParts parts);

}  // namespace wattle::controller
