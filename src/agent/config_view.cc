#include "src/agent/config_view.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "src/platform/doc/doc.h"

namespace kgpu::agent {

boost::json::value ConfigJson(const AgentState& state) {
  boost::json::object object = choice::ReportJson(state.config_report).as_object();
  object["file"] = state.config_file;
  object["running"] = nullptr;
  if (state.config) {
    auto tree = doc::Parse(config::PrintNodeConfig(*state.config, doc::Format::kJson),
                           doc::Format::kJson, "the configuration");
    object["running"] = std::move(tree).value_or(nullptr);
  }
  return object;
}

std::string ConfigTable(const AgentState& state) {
  std::string text = choice::ReportTable(state.config_report);
  if (state.config) {
    text += "\n" + config::PrintNodeConfig(*state.config);
  }
  return text;
}

}  // namespace kgpu::agent
