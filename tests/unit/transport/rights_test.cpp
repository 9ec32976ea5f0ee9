#include "common/transport/rights.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/parse.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::transport;
using wire::Kind;

namespace {
std::set<Role> may(Channel channel, std::optional<Kind> kind, std::string_view query = {}) {
  std::set<Role> out;
  for (const Role role : kRoles)
    if (!refused(channel, kind, query, role)) out.insert(role);
  return out;
}

constexpr auto kLastKind = static_cast<int>(Kind::goodbye);
const std::set<Role> kNobody;
}  // namespace

TEST_CASE("each role may send each kind to each channel exactly as intended") {
  const std::set<Role> agent{Role::agent};
  const std::set<Role> lookers{Role::reader, Role::operator_};
  std::map<std::pair<Channel, Kind>, std::set<Role>> meant;
  for (const Kind kind :
       {Kind::hello, Kind::samples, Kind::live, Kind::ping, Kind::pong, Kind::placement, Kind::goodbye})
    meant[{Channel::telemetry, kind}] = agent;
  meant[{Channel::ask, Kind::ask}] = {Role::shim, Role::operator_};
  meant[{Channel::ask, Kind::query}] = lookers;
  for (const Channel channel : kChannels)
    for (int number = 1; number <= kLastKind; ++number) {
      const auto kind = static_cast<Kind>(number);
      const auto found = meant.find({channel, kind});
      CAPTURE(to_string(channel));
      CAPTURE(to_string(kind));
      CHECK(may(channel, kind, "nodes") == (found == meant.end() ? kNobody : found->second));
      if (found == meant.end())
        for (const Role role : kRoles) CHECK(refused(channel, kind, {}, role) == Refused::kind);
    }
  REQUIRE(to_string(static_cast<Kind>(kLastKind + 1)) == "unknown");
  CHECK(may(Channel::feed, std::nullopt) == std::set<Role>{Role::shim, Role::reader, Role::operator_});
  CHECK(may(Channel::ask, Kind::query, "snapshot") == std::set<Role>{Role::shim, Role::reader, Role::operator_});
  CHECK(may(Channel::ask, Kind::query, "confirm") == std::set<Role>{Role::operator_});
  CHECK(may(Channel::ask, Kind::query, "done") == std::set<Role>{Role::operator_});
  CHECK(may(Channel::telemetry, std::nullopt) == kNobody);
}

TEST_CASE("no reader and no shim may change anything, and an agent may only send telemetry") {
  for (const Right& right : rights()) {
    const bool writes = right.kind == Kind::samples || right.kind == Kind::live || right.kind == Kind::placement ||
                        right.kind == Kind::goodbye || right.query == "confirm" || right.query == "done";
    if (writes) CHECK_FALSE(right.roles.has(Role::reader));
    if (writes) CHECK_FALSE(right.roles.has(Role::shim));
    CHECK(right.roles.has(Role::agent) == (right.channel == Channel::telemetry));
  }
}

TEST_CASE("the fix names the roles that have the permission") {
  CHECK(roles_text(Channel::ask, Kind::ask, {}) == "shim or operator");
  CHECK(roles_text(Channel::ask, Kind::query, "confirm") == "operator");
  CHECK(roles_text(Channel::feed, Kind::ask, {}) == "none");
}

TEST_CASE("docs/reference/security.md has the program's table of rights") {
  std::ifstream in(tests::source_dir() + "/docs/reference/security.md");
  REQUIRE(in);
  std::vector<std::string> documented;
  for (std::string line; std::getline(in, line);)
    for (const Channel channel : kChannels)
      if (line.starts_with("| `" + std::string(to_string(channel)) + "` |")) documented.push_back(line);
  // Consecutive messages of a socket with the same roles share a row; queries by name have their own rows.
  std::vector<std::string> real;
  std::string begins, row, ends;
  const auto finish = [&] {
    if (!row.empty()) real.push_back(row + ends);
  };
  for (const Right& right : rights()) {
    const bool named_query = right.kind == Kind::query && !right.query.empty();
    std::string begin = "| `" + std::string(to_string(right.channel)) + "` | " + (named_query ? "`query` " : "");
    std::string message = right.kind ? "`" + std::string(to_string(*right.kind)) + "`" : "subscribing";
    if (named_query) message = "`" + std::string(right.query) + "`";
    if (right.kind == Kind::query && right.query.empty()) message += ", any other";
    std::string end = " |";
    for (const Role role : kRoles) end += right.roles.has(role) ? " yes |" : " |";
    if (begin == begins && end == ends) {
      row += ", " + message;
      continue;
    }
    finish();
    row = begin + message;
    begins = std::move(begin);
    ends = std::move(end);
  }
  finish();
  CHECK(documented == real);
}
