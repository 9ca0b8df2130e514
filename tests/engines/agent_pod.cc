#include "tests/engines/agent_pod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "testing/status_matchers.h"

namespace kgpu::engines {
namespace {

namespace json = boost::json;

// What is applied: the manifest of the repository, or what `kgpu cluster render` prints.
std::string ManifestText() {
  const auto root = sys::Root::Open(KGPU_SOURCE_DIR);
  const auto text = root->ReadFile("deploy/manifests/kgpu.yaml");
  return text.ok() ? *text : e2e::RunProgram({"kgpu", "cluster", "render"}).out;
}

std::vector<json::value> Documents(const std::string& text) {
  std::vector<json::value> documents;
  constexpr std::string_view kMark = "\n---\n";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(kMark, at), text.size());
    const auto tree = doc::Parse(text.substr(at, end - at), doc::Format::kYaml, "the manifest");
    EXPECT_OK(tree.status());
    documents.push_back(tree.ok() ? *tree : json::value());
    at = end + kMark.size();
  }
  return documents;
}

const json::value* FindObject(const std::vector<json::value>& documents, std::string_view kind,
                              std::string_view name) {
  const auto found = std::ranges::find_if(documents, [&](const json::value& object) {
    return kube::TextField(object, {"kind"}) == kind && kube::NameOf(object) == name;
  });
  return found == documents.end() ? nullptr : &*found;
}

std::vector<std::string> ListOf(const json::value& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const json::value* list = kube::FindField(object, {key}); list != nullptr) {
    for (const json::value& item : list->as_array()) {
      texts.emplace_back(item.as_string());
    }
  }
  return texts;
}

void ReadCapabilities(const json::value& value, Security& security) {
  security.added_capabilities = ListOf(value, "add");
  security.dropped_capabilities = ListOf(value, "drop");
}

void ReadSecurity(const json::value& context, Security& security) {
  for (const auto& [key, value] : context.as_object()) {
    if (key == "privileged") {
      security.is_privileged = value.as_bool();
    } else if (key == "runAsUser") {
      security.user = value.as_int64();
    } else if (key == "readOnlyRootFilesystem") {
      security.is_root_read_only = value.as_bool();
    } else if (key == "allowPrivilegeEscalation") {
      security.has_no_new_privileges = !value.as_bool();
    } else if (key == "capabilities") {
      ReadCapabilities(value, security);
    } else {
      ADD_FAILURE() << "securityContext." << key << ": teach it to ReadSecurity";
    }
  }
}

void ReadContainer(const json::value& container, AgentPod& pod) {
  pod.arguments = ListOf(container, "args");
  ReadSecurity(container.at("securityContext"), pod.security);
  for (const json::value& variable : container.at("env").as_array()) {
    // The kubelet fills in what is no plain value.
    const json::value* value = kube::FindField(variable, {"value"});
    pod.env[std::string(kube::TextField(variable, {"name"}))] =
        value == nullptr ? "test-node" : std::string(value->as_string());
  }
  for (const json::value& mount : container.at("volumeMounts").as_array()) {
    const json::value* read_only = kube::FindField(mount, {"readOnly"});
    pod.mounts.push_back({.volume = std::string(kube::TextField(mount, {"name"})),
                          .path = std::string(kube::TextField(mount, {"mountPath"})),
                          .is_read_only = read_only != nullptr && read_only->as_bool()});
  }
}

void ReadVolume(const json::value& volume, const std::vector<json::value>& documents,
                AgentPod& pod) {
  const std::string name(kube::TextField(volume, {"name"}));
  if (const auto path = kube::TextField(volume, {"hostPath", "path"}); !path.empty()) {
    pod.host_paths[name] = path;
    return;
  }
  const auto config = kube::TextField(volume, {"configMap", "name"});
  EXPECT_NE(config, "") << "volume " << name << ": teach its kind to ReadVolume";
  auto& files = pod.config_files[name];
  const json::value* map = FindObject(documents, "ConfigMap", config);
  const json::value* data = map == nullptr ? nullptr : kube::FindField(*map, {"data"});
  for (const auto& [key, text] : data == nullptr ? json::object() : data->as_object()) {
    files[std::string(key)] = std::string(text.as_string());
  }
}

}  // namespace

void AgentPod::RemoveVolume(const std::string& volume) {
  EXPECT_EQ(host_paths.erase(volume), 1U) << volume;
  std::erase_if(mounts, [&](const Mount& mount) { return mount.volume == volume; });
}

void AgentPod::MakeReadOnly(const std::string& volume) {
  EXPECT_TRUE(host_paths.contains(volume)) << volume;
  for (Mount& mount : mounts) {
    mount.is_read_only = mount.is_read_only || mount.volume == volume;
  }
}

AgentPod ReadAgentPod() {
  AgentPod pod;
  const std::vector<json::value> documents = Documents(ManifestText());
  const json::value* daemons = FindObject(documents, "DaemonSet", "kgpu-agent");
  const json::value* spec =
      daemons == nullptr ? nullptr : kube::FindField(*daemons, {"spec", "template", "spec"});
  if (spec == nullptr) {
    ADD_FAILURE() << "the manifest has no DaemonSet kgpu-agent";
    return pod;
  }
  EXPECT_EQ(kube::FindField(*spec, {"securityContext"}), nullptr) << "teach it to ReadAgentPod";
  const json::value* host_pid = kube::FindField(*spec, {"hostPID"});
  pod.security.has_host_pids = host_pid != nullptr && host_pid->as_bool();
  EXPECT_EQ(spec->at("containers").as_array().size(), 1U);
  ReadContainer(spec->at("containers").as_array().at(0), pod);
  for (const json::value& volume : spec->at("volumes").as_array()) {
    ReadVolume(volume, documents, pod);
  }
  return pod;
}

}  // namespace kgpu::engines
