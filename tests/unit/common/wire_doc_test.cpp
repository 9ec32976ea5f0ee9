// wire_doc: common/wire/messages.md and the codec list the same fields in the same order.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "any_message.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/wire/codec.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::wire;

namespace {
using Names = std::vector<std::string>;

struct List {
  Names names;
  template <class T>
  void operator()(const char* name, T&) {
    names.emplace_back(name);
  }
};

template <class T>
Names names_of() {
  T value;
  List list;
  wire::fields(list, value);
  return list.names;
}

// Heading "### name" -> the first cells of its table.
std::map<std::string, Names> documented() {
  const auto dir = Dir::open_(tests::source_dir() + "/common/wire");
  REQUIRE(dir);
  std::map<std::string, Names> sections;
  Names* into = nullptr;
  const std::string text = dir->read_file("messages.md").value();
  parse::for_each_line(text, [&](std::string_view line) {
    if (line.starts_with("## ")) into = nullptr;
    if (line.starts_with("### ")) into = &sections[std::string(line.substr(4))];
    if (into != nullptr && line.starts_with("| `")) into->emplace_back(line.substr(3, line.find('`', 3) - 3));
  });
  return sections;
}

template <std::size_t Index = 0>
void each_kind(std::map<std::string, Names>& into) {
  if constexpr (Index < std::variant_size_v<Message>) {
    using T = std::variant_alternative_t<Index, Message>;
    into[std::string(to_string(kind_of(Message(T{}))))] = names_of<T>();
    each_kind<Index + 1>(into);
  }
}
}  // namespace

TEST_CASE("the wire pages list every field of every message in order, and no other") {
  std::map<std::string, Names> spoken;
  each_kind(spoken);
  spoken["record"] = names_of<Record>();
  spoken["record_gap"] = names_of<RecordGap>();
  spoken["node_values"] = names_of<NodeValues>();
  spoken["pressure"] = names_of<Pressure>();
  spoken["energy_domain"] = names_of<EnergyDomain>();
  spoken["socket_values"] = names_of<SocketValues>();
  spoken["kernel_values"] = names_of<KernelValues>();
  spoken["workload_values"] = names_of<WorkloadValues>();
  spoken["container_values"] = names_of<ContainerValues>();
  spoken["limit_minute"] = names_of<LimitMinute>();
  spoken["margin_step"] = names_of<MarginStep>();
  spoken["probe_values"] = names_of<ProbeValues>();
  spoken["candidate"] = names_of<Candidate>();
  spoken["next_pod"] = names_of<NextPod>();
  spoken["outcome"] = names_of<Outcome>();
  spoken["board_class"] = names_of<BoardClass>();
  spoken["node_state"] = names_of<NodeState>();
  auto reported = documented();
  for (const auto& entry : spoken) {
    CAPTURE(entry.first);
    CHECK(reported[entry.first] == entry.second);
  }
  CHECK(reported.size() == spoken.size());
}
