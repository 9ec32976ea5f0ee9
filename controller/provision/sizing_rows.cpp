#include "controller/provision/sizing_rows.hpp"

#include <utility>

namespace wattle::controller {
namespace {

bool read_mode(placement::PackReader& in, LadderMode& mode) {
  const auto setting = parse_mode(in.text());
  LadderMode found{setting ? *setting : ModeSetting(Mode::off), in.real(), in.text(), in.text()};
  if (!setting || !in.done()) return false;
  mode = std::move(found);
  return true;
}

bool read_owner(placement::PackReader& in, SizedOwner& owner) {
  owner.state.unpack(in);
  owner.harm.unpack(in);
  return in.done();
}

}  // namespace

SizingRow row_of(const std::string& owner, const placement::OwnerSizing& state, const placement::HarmWatch& harm) {
  placement::PackWriter out;
  out.word(kSizingBodyVersion);
  state.pack(out);
  harm.pack(out);
  return {owner, out.take()};
}

std::vector<SizingRow> rows_of(const std::map<std::string, SizedOwner>& owners) {
  std::vector<SizingRow> rows;
  for (const auto& [name, owner] : owners) rows.push_back(row_of(name, owner.state, owner.harm));
  return rows;
}

SizingRow row_of(const LadderMode& mode) {
  placement::PackWriter out;
  out.word(kSizingBodyVersion);
  out.text(mode.mode.text());
  out.real(mode.since_s);
  out.text(mode.who);
  out.text(mode.why);
  return {"", out.take()};
}

std::size_t read_rows(std::span<const SizingRow> rows, LadderMode& mode, std::map<std::string, SizedOwner>& owners) {
  std::size_t unreadable = 0;
  for (const SizingRow& row : rows) {
    placement::PackReader in(row.body);
    const bool known = in.word() == kSizingBodyVersion;
    SizedOwner owner;
    if (!known || !(row.owner.empty() ? read_mode(in, mode) : read_owner(in, owner)))
      ++unreadable;
    else if (!row.owner.empty())
      owners.emplace(row.owner, std::move(owner));
  }
  return unreadable;
}

}  // namespace wattle::controller
