// commands: the entry points behind the table in commands.cpp, and the pure renderers behind them.
// Source   a document of docs/reference/api.md, parsed
// Units    as the document; people see MiB, W, %, ms and ages
// Errors   malformed: the document lacks its main list or object; any other missing or null value shows as "-"
// Threads  main only; renderers from any
#pragma once

#include <map>
#include <string>

#include "cli/command.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"
#include "common/cmdline/outline.hpp"

namespace wattle::cli {

void declare_nodes(CLI::App& command, Run& chosen);
void declare_node(CLI::App& command, Run& chosen);
void declare_pods(CLI::App& command, Run& chosen);
void declare_pod(CLI::App& command, Run& chosen);
void declare_top(CLI::App& command, Run& chosen);
void declare_decisions(CLI::App& command, Run& chosen);
void declare_report(CLI::App& command, Run& chosen);
void declare_savings(CLI::App& command, Run& chosen);
void declare_provision(CLI::App& command, Run& chosen);
void declare_sleep(CLI::App& command, Run& chosen);
void declare_explain(CLI::App& command, Run& chosen);
void declare_place(CLI::App& command, Run& chosen);
void declare_confirm(CLI::App& command, Run& chosen);
void declare_done(CLI::App& command, Run& chosen);
void declare_doctor(CLI::App& command, Run& chosen);
void declare_gaps(CLI::App& command, Run& chosen);
void declare_status(CLI::App& command, Run& chosen);
void declare_policy(CLI::App& command, Run& chosen);
void declare_model(CLI::App& command, Run& chosen);
void declare_keys(CLI::App& command, Run& chosen);
void declare_join(CLI::App& command, Run& chosen);
void declare_up(CLI::App& command, Run& chosen);
void declare_down(CLI::App& command, Run& chosen);
void declare_backup(CLI::App& command, Run& chosen);
void declare_restore(CLI::App& command, Run& chosen);
void declare_completion(CLI::App& command, Run& chosen);
void declare_dashboard(CLI::App& command, Run& chosen);
void declare_install(CLI::App& command, Run& chosen);
void declare_help(CLI::App& command, Run& chosen);
void declare_version(CLI::App& command, Run& chosen);

Result<std::string> render_nodes(const Json& document, const Style& style);
Result<std::string> render_node(const Json& document, const Style& style);
Result<std::string> render_pod(const Json& document, const Style& style);
Result<std::string> render_pods(const Json& document, const Style& style);
Result<std::string> render_decisions(const Json& document, const Style& style);
Result<std::string> render_report(const Json& document, const Style& style);
Result<std::string> render_savings(const Json& document, const Style& style);
// The levers and their sum, for other commands.
std::string savings_table(const View& savings, bool colour);
Result<std::string> render_provision(const Json& document, const Style& style);
Result<std::string> render_sleep_plan(const Json& document, const Style& style);
// Renders the answer to an order about sleep.
Result<std::string> render_sleep_order(const Json& document, const Style& style);
Result<std::string> render_replicas(const Json& document, const Style& style);
Result<std::string> render_margins(const Json& document, const Style& style);
Result<std::string> render_explain(const Json& document, const Style& style);
Result<std::string> render_what_if(const Json& document, const Style& style);
// Renders the output of `place -o json`.
Result<std::string> render_placed(const Json& document, const Style& style);
// Renders the answers to `confirm` and `done` (docs/reference/api.md).
Result<std::string> render_confirmed(const Json& document, const Style& style);
Result<std::string> render_done(const Json& document, const Style& style);
Result<std::string> render_doctor(const Json& document, const Style& style);
Result<std::string> render_pre(const Json& document, const Style& style);
Result<std::string> render_gaps(const Json& document, const Style& style);
Result<std::string> render_policy(const Json& document, const Style& style);
// Renders the document `models`.
Result<std::string> render_models(const Json& document, const Style& style);
// Renders the output of `version -o json`.
Result<std::string> render_version(const Json& document, const Style& style);
Result<std::string> render_status(const Json& document, const Style& style);
// Renders {"status": {...}, "nodes": [...], "pods": [...]}, the output of `top -o json`.
Result<std::string> render_top(const Json& document, const Style& style);

// Returns false if anything needs a fix: a finding has failed, or a node is not connected.
bool doctor_is_well(const Json& document);

}  // namespace wattle::cli
