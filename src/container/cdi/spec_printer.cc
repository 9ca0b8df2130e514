#include <boost/json.hpp>

#include <utility>
#include <vector>

#include "src/container/cdi/spec_text.h"

namespace kgpu::cdi {
namespace {

namespace json = boost::json;

void PutText(json::object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    out.emplace(key, text);
  }
}

template <typename T>
void PutNumber(json::object& out, std::string_view key, const std::optional<T>& number) {
  if (number) {
    out.emplace(key, static_cast<int64_t>(*number));
  }
}

// Declared before the template that calls them.
json::value Tree(const Mount& mount);
json::value Tree(const Hook& hook);
json::value Tree(const Device& device);

json::value Tree(const std::string& text) {
  return json::value(text);
}

json::value Tree(uint32_t number) {
  return json::value(static_cast<int64_t>(number));
}

json::value Tree(const DeviceNode& node) {
  json::object out;
  PutText(out, "path", node.path);
  PutText(out, "hostPath", node.host_path);
  PutText(out, "type", node.type);
  PutNumber(out, "major", node.major);
  PutNumber(out, "minor", node.minor);
  PutNumber(out, "fileMode", node.file_mode);
  PutText(out, "permissions", node.permissions);
  PutNumber(out, "uid", node.uid);
  PutNumber(out, "gid", node.gid);
  return out;
}

json::value Tree(const NetDevice& device) {
  json::object out;
  PutText(out, "hostInterfaceName", device.host_interface_name);
  PutText(out, "name", device.name);
  return out;
}

// An empty list is left out: engines read both alike.
template <typename T>
void PutList(json::object& out, std::string_view key, const std::vector<T>& items) {
  if (items.empty()) {
    return;
  }
  json::array list;
  list.reserve(items.size());
  for (const T& item : items) {
    list.push_back(Tree(item));
  }
  out.emplace(key, std::move(list));
}

json::value Tree(const Mount& mount) {
  json::object out;
  PutText(out, "hostPath", mount.host_path);
  PutText(out, "containerPath", mount.container_path);
  PutList(out, "options", mount.options);
  PutText(out, "type", mount.type);
  return out;
}

json::value Tree(const Hook& hook) {
  json::object out;
  PutText(out, "hookName", hook.hook_name);
  PutText(out, "path", hook.path);
  PutList(out, "args", hook.args);
  PutList(out, "env", hook.env);
  PutNumber(out, "timeout", hook.timeout_seconds);
  return out;
}

void PutAnnotations(json::object& out, const std::vector<Annotation>& annotations) {
  if (annotations.empty()) {
    return;
  }
  json::object map;
  for (const Annotation& annotation : annotations) {
    map.emplace(annotation.key, annotation.value);
  }
  out.emplace("annotations", std::move(map));
}

void PutEdits(json::object& out, const ContainerEdits& edits) {
  json::object map;
  PutList(map, "env", edits.env);
  PutList(map, "deviceNodes", edits.device_nodes);
  PutList(map, "netDevices", edits.net_devices);
  PutList(map, "mounts", edits.mounts);
  PutList(map, "hooks", edits.hooks);
  if (edits.has_intel_rdt) {
    map.emplace("intelRdt", json::object());
  }
  PutList(map, "additionalGids", edits.additional_gids);
  out.emplace("containerEdits", std::move(map));
}

json::value Tree(const Device& device) {
  json::object out;
  PutText(out, "name", device.name);
  PutAnnotations(out, device.annotations);
  PutEdits(out, device.edits);
  return out;
}

}  // namespace

std::string PrintSpec(const Spec& spec, doc::Format format) {
  json::object out;
  PutText(out, "cdiVersion", spec.version);
  PutText(out, "kind", spec.kind);
  PutAnnotations(out, spec.annotations);
  PutList(out, "devices", spec.devices);
  if (spec.edits != ContainerEdits{}) {
    PutEdits(out, spec.edits);
  }
  return doc::Print(out, format);
}

}  // namespace kgpu::cdi
