#include "tests/integration/agent_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "src/container/cdi/folder.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;

cdi::FolderContents ReadCdi(const std::string& host) {
  const auto root = sys::Root::Open(host);
  EXPECT_TRUE(root.ok());
  return cdi::ReadFolders(*root,
                          {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
}

struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  // In clock ticks: of the process, and of its children that have ended.
  int64_t own = 0;
  int64_t of_children = 0;
};

// Source: proc(5), /proc/<pid>/stat: the name may hold anything, so the fields are counted from its
// last bracket.
ProcessStat StatOf(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');
  ProcessStat stat;
  if (end == std::string::npos) {
    return stat;
  }
  std::istringstream fields(text.substr(end + 1));
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int i = 0; i < 9; ++i) {  // pgrp to cmajflt
    fields >> skipped;
  }
  int64_t user = 0;
  int64_t system = 0;
  int64_t user_of_children = 0;
  int64_t system_of_children = 0;
  fields >> user >> system >> user_of_children >> system_of_children;
  stat.own = user + system;
  stat.of_children = user_of_children + system_of_children;
  return stat;
}

}  // namespace

AgentNode::AgentNode(const Options& options) : host_(options.profile) {
  host_.dir().MakeDir("kubelet");
  host_.dir().MakeDir("run");
  host_.dir().WriteFile(
      "config.yaml",
      fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nhealth: {{holdDown: {}, "
                  "flapLimit: {{times: {}}}{}{}}}\nplugin: {{registration: {}, deviceListStrategy: "
                  "{}}}\n{}",
                  options.hold_down, options.flap_limit, options.more_health.empty() ? "" : ", ",
                  options.more_health,
                  options.registration == config::Registration::kKubeletSocket ? "kubelet-socket"
                                                                               : "plugin-watcher",
                  options.strategy, options.more_config));
}

void AgentNode::StartAgent(const std::vector<std::string>& more) {
  std::vector<std::string> argv = {"kgpu",           "agent",
                                   "--kubelet-dir",  kubelet_root(),
                                   "--run-dir",      run_dir(),
                                   "--state-dir",    state_dir(),
                                   "--config",       host_.dir().At("config.yaml"),
                                   "--http-address", "off"};
  for (std::string& flag : host_.flags()) {
    argv.push_back(std::move(flag));
  }
  argv.insert(argv.end(), more.begin(), more.end());
  agent_ = std::make_unique<e2e::Background>(std::move(argv));
}

std::chrono::duration<double, std::milli> AgentNode::EndAgent(int signal) {
  const auto begun = std::chrono::steady_clock::now();
  if (signal == SIGKILL) {
    agent_.reset();
  } else {
    EXPECT_EQ(agent_->Stop().code, 0);
  }
  const auto ended = std::chrono::steady_clock::now();
  agent_.reset();
  return ended - begun;
}

std::map<pid_t, char> AgentNode::AgentChildren() const {
  std::map<pid_t, char> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      const ProcessStat stat = StatOf(name);
      if (stat.parent == agent_pid()) {
        children.emplace(std::stoi(name), stat.state);
      }
    }
  }
  return children;
}

std::chrono::milliseconds AgentNode::CpuTime() const {
  const ProcessStat agent = StatOf(std::to_string(agent_pid()));
  int64_t ticks = agent.own + agent.of_children;
  for (const auto& [child, state] : AgentChildren()) {
    ticks += StatOf(std::to_string(child)).own;
  }
  return std::chrono::milliseconds(ticks * 1000 / sysconf(_SC_CLK_TCK));
}

json::value AgentNode::Status() const {
  const e2e::Result result =
      e2e::RunProgram({"kgpu", "status", "--output", "json", "--run-dir", run_dir()});
  const auto status = doc::Parse(result.out, doc::Format::kJson, "kgpu status");
  return status.ok() && status->is_object() ? *status : json::value();
}

bool AgentNode::WaitForStatus(const std::function<bool(const json::value&)>& condition,
                              std::chrono::milliseconds limit) const {
  return WaitInFolder(
      run_dir(),
      [&] {
        const json::value status = Status();
        return status.is_object() && condition(status);
      },
      limit);
}

std::vector<std::string> AgentNode::GpuUuids() const {
  std::vector<std::string> argv = {"kgpu", "devices", "--output", "json"};
  for (std::string& flag : host_.flags()) {
    argv.push_back(std::move(flag));
  }
  const e2e::Result result = e2e::RunProgram(std::move(argv));
  const auto devices = doc::Parse(result.out, doc::Format::kJson, "kgpu devices");
  std::vector<std::string> uuids;
  EXPECT_TRUE(devices.ok()) << result.out << result.err;
  if (devices.ok()) {
    for (const json::value& gpu : devices->at("gpus").as_array()) {
      uuids.emplace_back(gpu.at("uuid").as_string());
    }
  }
  return uuids;
}

std::vector<std::string> AgentNode::CdiProblems() const {
  const cdi::FolderContents contents = ReadCdi(host_.path());
  std::vector<std::string> problems = contents.problems;
  for (const cdi::SpecFile& file : contents.files) {
    if (!file.problem.empty()) {
      problems.push_back(fmt::format("{}: {}", file.path, file.problem));
    }
  }
  for (const cdi::Conflict& conflict : contents.conflicts) {
    problems.push_back(fmt::format("{}: declared twice", conflict.name));
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(cdi_folder(), error)) {
    const std::string ending = entry.path().extension();
    if (ending != ".json" && ending != ".kept") {
      problems.push_back(fmt::format("{}: left behind", entry.path().string()));
    }
  }
  return problems;
}

std::vector<std::string> AgentNode::LastingCdiProblems() const {
  std::vector<std::string> problems;
  (void)WaitInFolder(
      cdi_folder(),
      [&] {
        problems = CdiProblems();
        return problems.empty();
      },
      std::chrono::seconds(5));
  return problems;
}

std::vector<std::string> AgentNode::CdiDevices() const {
  std::vector<std::string> names;
  for (const cdi::Resolved& device : ReadCdi(host_.path()).devices) {
    names.push_back(device.name);
  }
  return names;
}

std::string StateOf(const json::value& status, const std::string& resource) {
  for (const json::value& entry : status.at("resources").as_array()) {
    const json::value* state = entry.as_object().if_contains("state");
    if (entry.at("name") == json::string_view(resource) && state != nullptr) {
      return std::string(state->as_string());
    }
  }
  return "";
}

}  // namespace kgpu::integration
