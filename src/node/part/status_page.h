// The pages about this node, to which every part adds what it knows.
#pragma once

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include <set>
#include <string>
#include <string_view>

#include "src/node/report/devices_view.h"

namespace kgpu::node {

struct StatusPage {
  // Of `kgpu status`: the lines on top; the tables, each after an empty line; the fields of its
  // JSON, whose names are part of the interface: docs/reference/agent.md.
  std::string head{};
  std::string tables{};
  boost::json::object fields{};
  // Features that do not work although the node is ready: "memory slices".
  std::set<std::string> exceptions{};
  // Of `kgpu devices`.
  report::Holders holders{};

  // Adds a line to the head: "loans     <text>". None for an empty text, which means no problem.
  void AddLine(std::string_view subject, std::string_view text) {
    if (!text.empty()) {
      head += fmt::format("{:<9} {}\n", subject, text);
    }
  }
};

}  // namespace kgpu::node
