// savings: all savings that are available on the cluster now, modelled from its current state.
// Source   nodes and pods of the state, suggestions of the request book and the replica book, the modelled saving of
//          placement and the measured one of canaries, requests that were given up
// Levers   sleep and drain: controller/web/sleep_levers. requests and replicas: the nodes that right-sized requests and
//          fewer replicas free when the fleet is packed (provision/savings/freed_nodes). placement: saving_json's
// Rule     requests are those that the rule suggests, even below the original: an owner may change the template.
//          Workloads whose level is off or limits are left out
// Interval provision/savings/doubt, from the pods of each past hour (fleet history), the errors of the curves (of an
//          estimated node: the spread of servers with as many cores), and other models of the same saving: shares of
//          nodes for requests and replicas, times asleep so far for sleep and drain
// Units    watts, cores, bytes
// Errors   none
// Threads  the owner of the parts
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "provision/savings/doubt.hpp"
#include "provision/savings/freed_nodes.hpp"
#include "provision/savings/levers.hpp"

namespace wattle::controller {

// A node that could sleep, a workload that could request something else, or one that could have fewer replicas.
struct SavingItem {
  std::string name;
  std::string text;                  // one line
  std::optional<double> saved_w;     // of a node
  std::optional<std::size_t> nodes;  // freed by this item and those before it; no value: not packed one by one
  std::string command;               // applies it; empty: the lever's
};

struct SavingLever : placement::LeverSaving {
  std::string text;
  std::string no_interval;                               // why there is no interval; empty: there is one
  std::optional<std::size_t> nodes;                      // that could sleep
  std::string command;                                   // applies the lever; empty: no command does
  std::string measured;                                  // measured since it was applied; empty: it was not applied
  std::vector<double> models_w;                          // the same saving by other models
  std::vector<SavingItem> items;                         // most important first
  std::map<std::string, std::vector<std::string>> kept;  // sleep: nodes that could not, by the reason
};

struct SavingsNow {
  std::vector<SavingLever> levers;  // largest first
  placement::SavingsSum sum;
  std::optional<double> power_w;  // of the fleet
};

// `now` is complete after the last step.
Steps find_savings(const Parts& from, std::shared_ptr<SavingsNow> now);

}  // namespace wattle::controller
