#include "src/cli/program/host_values.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <optional>

#include "src/cli/base/options.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/client.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

using commands::Candidate;

constexpr std::string_view kGpuFolders = "proc/driver/nvidia/gpus";
// A user does not wait longer for a key.
constexpr std::chrono::milliseconds kAgentTimeout{300};

// The value of `flag` in the words of a line: "--run-dir DIR" or "--run-dir=DIR".
std::optional<std::string> ValueIn(const std::vector<std::string>& words, std::string_view flag) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) {
      return words[i + 1];
    }
    if (words[i].starts_with(flag) && words[i].substr(flag.size()).starts_with('=')) {
      return words[i].substr(flag.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> ValueOf(const std::vector<std::string>& environment,
                                   std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

// The text after `key` in lines "Key:   value".
std::string_view FieldIn(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(key)) {
      return Trim(line.substr(key.size()));
    }
  }
  return "";
}

void AddIndex(const json::value& gpu, std::vector<Candidate>& offered) {
  const json::value* index = kube::FindField(gpu, {"index"});
  if (index != nullptr && index->is_int64()) {
    offered.push_back({.word = fmt::format("{}", index->get_int64()),
                       .description = std::string(kube::TextField(gpu, {"name"}))});
  }
}

void AddMigUuids(const json::value& gpu, std::vector<Candidate>& offered) {
  const json::value* devices = kube::FindField(gpu, {"migDevices"});
  if (devices == nullptr || !devices->is_array()) {
    return;
  }
  for (const json::value& mig : devices->get_array()) {
    offered.push_back({.word = std::string(kube::TextField(mig, {"uuid"})),
                       .description = std::string(kube::TextField(mig, {"profile"}))});
  }
}

StatusOr<std::vector<Candidate>> AskAgent(const std::string& run_dir) {
  http::Request request;
  request.target = "/v1/devices?output=json";
  ASSIGN_OR_RETURN(const http::Response response,
                   http::Fetch(run_dir + "/agent.sock", request, {.timeout = kAgentTimeout}));
  return GpusOfAgent(response.body);
}

}  // namespace

HostSource HostSourceOf(const commands::TypedLine& line,
                        const std::vector<std::string>& environment) {
  const auto value = [&](std::string_view flag, std::string_view name, std::string_view otherwise) {
    const auto given = ValueIn(line.words, flag);
    return given ? *given : ValueOf(environment, name).value_or(std::string(otherwise));
  };
  return {.host_root = value("--host-root", "KGPU_HOST_ROOT", ""),
          .run_dir = value("--run-dir", "KGPU_RUN_DIR", kRunDir)};
}

std::vector<Candidate> GpusOfKernel(const sys::Root& host) {
  std::vector<Candidate> uuids;
  for (const std::string& address :
       host.ListDir(kGpuFolders).value_or(std::vector<std::string>())) {
    const std::string text =
        host.ReadFile(fmt::format("{}/{}/information", kGpuFolders, address)).value_or("");
    const std::string_view uuid = FieldIn(text, "GPU UUID:");
    if (!uuid.empty()) {
      uuids.push_back(
          {.word = std::string(uuid), .description = std::string(FieldIn(text, "Model:"))});
    }
  }
  return uuids;
}

StatusOr<std::vector<Candidate>> GpusOfAgent(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value answer, kube::ParseObject(text, "devices"));
  const json::value* gpus = kube::FindField(answer, {"gpus"});
  if (gpus == nullptr || !gpus->is_array()) {
    return InvalidArgument("devices: no list of GPUs");
  }
  std::vector<Candidate> offered;  // indexes first: they are shorter to type
  std::vector<Candidate> uuids;
  std::vector<Candidate> migs;
  for (const json::value& gpu : gpus->get_array()) {
    AddIndex(gpu, offered);
    uuids.push_back({.word = std::string(kube::TextField(gpu, {"uuid"})),
                     .description = std::string(kube::TextField(gpu, {"name"}))});
    AddMigUuids(gpu, migs);
  }
  offered.insert(offered.end(), uuids.begin(), uuids.end());
  offered.insert(offered.end(), migs.begin(), migs.end());
  return offered;
}

std::vector<Candidate> HostValuesOf(const HostSource& source, std::string_view kind) {
  if (kind != "GPU") {
    return {};
  }
  // The agent watches the machine itself.
  if (source.host_root.empty() || source.host_root == "/") {
    if (auto reported = AskAgent(source.run_dir); reported.ok()) {
      return *std::move(reported);
    }
  }
  const StatusOr<sys::Root> host =
      sys::Root::Open(source.host_root.empty() ? "/" : source.host_root);
  return host.ok() ? GpusOfKernel(*host) : std::vector<Candidate>();
}

}  // namespace kgpu::cli
