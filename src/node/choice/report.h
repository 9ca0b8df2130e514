// What a node reports about its configuration: the condition GPUConfigured, and what people read.
// Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::choice {

enum class State : uint8_t {
  kWaiting,  // for the node's labels, which decide
  kApplied,
  kInvalid,  // it has an error; the previous one stays in use
  kUnknown,  // there is none of this name; the previous one stays in use
};
// "waiting", "applied", "invalid", "unknown".
std::string_view ToString(State state);

struct Report {
  State state = State::kApplied;
  // What runs.
  bool is_running = false;
  std::string name{};  // empty: the default
  std::string from{};  // the ConfigMap
  std::string file{};  // empty: the built-in configuration
  std::string why{};   // Choice::why
  std::vector<std::string> notes{};
  std::string problem{};  // why something else should run, with the fix
  // A ConfigMap or a label of the node chooses configurations.
  bool is_chosen_by_node = false;
  bool operator==(const Report&) const = default;
};

// "mig from kgpu-configs", "/etc/kgpu/config.yaml", "built in", "none".
std::string RunningText(const Report& report);

struct Condition {
  std::string status{};  // True, False
  std::string reason{};  // ConfigApplied, ConfigInvalid, ConfigUnknown
  std::string message{};
  bool operator==(const Condition&) const = default;
};

// Nothing: the node needs none, since the default is in use without a problem.
std::optional<Condition> ConditionOf(const Report& report);

// A node in a list of all.
struct NodeRow {
  std::string node{};
  std::string config{};  // RunningText
  std::string chosen_by{};
  std::string state{};
  std::string problem{};
  bool operator==(const NodeRow&) const = default;
};

// The row of a node with this condition; with none, the default runs there.
NodeRow RowOf(std::string node, const std::optional<Condition>& condition);
std::string RowsTable(const std::vector<NodeRow>& rows);
boost::json::value RowsJson(const std::vector<NodeRow>& rows);

// Lines of "key value" about one node, for `kgpu status` and `kgpu config show`.
boost::json::value ReportJson(const Report& report);
std::string ReportTable(const Report& report);

}  // namespace kgpu::choice
