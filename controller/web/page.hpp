// page: the HTTP routes of the page: its files, access to its data, and the stream of updates.
// Rules    files are public. Data requires a token if `http.token_file` is set: the page shows the token once and
//          exchanges it for a cookie that scripts cannot read and other sites cannot send. A request that changes
//          something needs a header that only a script of this page can set; a change to the cluster needs more
//          (page_change.hpp)
// Errors   none: HTTP statuses
// Threads  any
#pragma once

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
  std::optional<http::Token> token;  // nullopt: no token is required
  bool secure = false;               // served by TLS
  std::shared_ptr<http::Broadcast> live;
  const Clock& clock;
  std::optional<http::Token> operators = {};  // nullopt: the page permits no changes
  MakeChange change = {};
};
void add_page(http::Routes& routes, std::set<std::string>& open_paths, PageParts parts);

}  // namespace wattle::controller
