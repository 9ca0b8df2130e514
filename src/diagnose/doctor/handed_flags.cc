// Kubelets inside k3s, RKE2 and microk8s: the files that say how they are called.
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"

namespace kgpu::doctor {
namespace {

namespace json = boost::json;

constexpr std::string_view kMicrok8s = "/var/snap/microk8s/current/args/kubelet";
constexpr std::array<std::string_view, 2> kRancher = {"/etc/rancher/k3s", "/etc/rancher/rke2"};

// snapd sets these for the daemon, and the file may use them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSnapNames = {
    {{"${SNAP_COMMON}", "/var/snap/microk8s/common"},
     {"${SNAP_DATA}", "/var/snap/microk8s/current"}}};

std::string WithSnapNames(std::string text) {
  for (const auto& [name, folder] : kSnapNames) {
    for (size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + folder.size())) {
      text.replace(at, name.size(), folder);
    }
  }
  return text;
}

// "kubelet-arg: [feature-gates=A=true]", or one alone; "kubelet-arg+" adds to other files.
std::string KubeletArguments(const json::value& tree) {
  std::string flags;
  for (const std::string_view key : {"kubelet-arg", "kubelet-arg+"}) {
    const json::value* value = kube::FindField(tree, {key});
    if (value != nullptr && value->is_string()) {
      flags += fmt::format("--{} ", std::string_view(value->get_string()));
    }
    if (value == nullptr || !value->is_array()) {
      continue;
    }
    for (const json::value& item : value->get_array()) {
      if (item.is_string()) {
        flags += fmt::format("--{} ", std::string_view(item.get_string()));
      }
    }
  }
  return flags;
}

void ReadRancher(host::Sight& sight, const std::string& path, std::vector<HandedFlags>& all) {
  const std::optional<std::string> text = sight.Text(path);
  if (!text) {
    return;
  }
  const StatusOr<json::value> tree = doc::Parse(*text, doc::Format::kYaml, path);
  if (tree.ok()) {
    all.push_back({.path = path, .flags = KubeletArguments(*tree)});
  } else {
    sight.Note(tree.status());
  }
}

}  // namespace

std::vector<HandedFlags> ReadHandedFlags(host::Sight& sight) {
  std::vector<HandedFlags> all;
  for (const std::string_view folder : kRancher) {
    ReadRancher(sight, fmt::format("{}/config.yaml", folder), all);
    const std::string drop_ins = fmt::format("{}/config.yaml.d", folder);
    for (const std::string& name : sight.Names(drop_ins)) {
      if (name.ends_with(".yaml")) {
        ReadRancher(sight, fmt::format("{}/{}", drop_ins, name), all);
      }
    }
  }
  if (std::optional<std::string> text = sight.Text(kMicrok8s)) {
    all.push_back({.path = std::string(kMicrok8s), .flags = WithSnapNames(*std::move(text))});
  }
  return all;
}

}  // namespace kgpu::doctor
