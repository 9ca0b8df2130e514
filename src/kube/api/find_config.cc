#include "src/kube/api/find_config.h"

#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/dial/endpoint.h"

namespace kgpu::kube {
namespace {

constexpr size_t kMaxFile = size_t{2} << 20;
constexpr size_t kMaxFiles = 64;
constexpr std::string_view kPodFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string Variable(const ConfigSources& sources, std::string_view name) {
  for (const std::string& entry : sources.environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

std::string Absolute(std::string path, const std::string& folder) {
  return path.starts_with('/') ? path : fmt::format("{}/{}", folder, path);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

StatusOr<Kubeconfig> ReadConfig(const sys::Root& root, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(path, kMaxFile));
  return ParseKubeconfig(text, path, FolderOf(path));
}

StatusOr<FoundConfig> Select(const Kubeconfig& config, std::string source,
                             const ConfigSources& sources) {
  StatusOr<Selected> selected = SelectContext(config, sources.context);
  if (!selected.ok()) {
    return Annotate(selected.status(), "{}", source);
  }
  return FoundConfig{.source = std::move(source), .selected = *std::move(selected)};
}

// $KUBECONFIG names several, of which some may not be there.
StatusOr<FoundConfig> FromList(const sys::Root& root, const std::string& list,
                               const ConfigSources& sources) {
  Kubeconfig merged;
  std::vector<std::string> read;
  const std::vector<std::string_view> paths = Split(list, ':');
  if (paths.size() > kMaxFiles) {
    return InvalidArgument("KUBECONFIG: lists more than {} files", kMaxFiles);
  }
  for (const std::string_view entry : paths) {
    if (entry.empty()) {
      continue;
    }
    const std::string path = Absolute(std::string(entry), sources.working_folder);
    StatusOr<Kubeconfig> config = ReadConfig(root, path);
    if (config.ok()) {
      MergeKubeconfig(merged, *std::move(config));
      read.push_back(path);
    } else if (config.status().code() != StatusCode::kNotFound) {
      return config.status();
    }
  }
  if (read.empty()) {
    return NotFound("KUBECONFIG: none of its files exists: {}", Printable(list));
  }
  return Select(merged, Join(read, ":"), sources);
}

StatusOr<FoundConfig> FromPod(const sys::Root& root, const std::string& host,
                              const std::string& port) {
  FoundConfig found{.source = "in-cluster"};
  const auto number = ParseUint(port);
  if (!number || *number == 0 || *number > UINT16_MAX) {
    return InvalidArgument("KUBERNETES_SERVICE_PORT: \"{}\" must be a port", Printable(port));
  }
  found.selected.context = "in-cluster";
  found.selected.cluster.server =
      fmt::format("https://{}", net::JoinHostPort(host, static_cast<uint16_t>(*number)));
  found.selected.cluster.ca_file = fmt::format("{}/ca.crt", kPodFolder);
  found.selected.user.token_file = fmt::format("{}/token", kPodFolder);
  const StatusOr<std::string> space = root.ReadFile(fmt::format("{}/namespace", kPodFolder), 4096);
  if (space.ok() && !Trim(*space).empty()) {
    found.selected.space = Trim(*space);
  }
  return found;
}

}  // namespace

StatusOr<FoundConfig> FindConfig(const sys::Root& root, const ConfigSources& sources) {
  if (!sources.kubeconfig.empty()) {
    const std::string path = Absolute(sources.kubeconfig, sources.working_folder);
    ASSIGN_OR_RETURN(const Kubeconfig config, ReadConfig(root, path));
    return Select(config, path, sources);
  }
  if (const std::string list = Variable(sources, "KUBECONFIG"); !list.empty()) {
    return FromList(root, list, sources);
  }
  const std::string home =
      sources.ignores_home_kubeconfig ? std::string() : Variable(sources, "HOME");
  const std::string path = fmt::format("{}/.kube/config", home);
  if (!home.empty() && root.Exists(path)) {
    ASSIGN_OR_RETURN(const Kubeconfig config, ReadConfig(root, path));
    return Select(config, path, sources);
  }
  const std::string host = Variable(sources, "KUBERNETES_SERVICE_HOST");
  if (!host.empty() && sources.context.empty()) {
    return FromPod(root, host, Variable(sources, "KUBERNETES_SERVICE_PORT"));
  }
  const std::string looked_at_home = sources.ignores_home_kubeconfig ? ""
                                     : home.empty()                  ? ", no ~/.kube/config"
                                                                     : ", no " + path;
  return NotFound(
      "no cluster configured: no --kubeconfig, no $KUBECONFIG{}, and not running in a pod "
      "(KUBERNETES_SERVICE_HOST is not set)",
      looked_at_home);
}

}  // namespace kgpu::kube
