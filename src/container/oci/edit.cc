#include "src/container/oci/edit.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/container/oci/device_node.h"
#include "src/container/oci/tree.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::oci {
namespace {

namespace json = boost::json;

// The first entry whose field `name` is `text`, or the list's size.
StatusOr<size_t> FindEntry(const Tree& tree, const json::array& list, std::string_view list_name,
                           std::string_view name, std::string_view text) {
  for (size_t i = 0; i < list.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string_view found, tree.TextOfEntry(list, i, name, list_name));
    if (found == text) {
      return i;
    }
  }
  return list.size();
}

// Where mounts are already. Looking through all of them for each of a hundred new ones would cost
// more than everything else here.
class Destinations {
 public:
  Destinations(const Tree& tree, const json::array& list) : tree_(tree), list_(list) {}

  Status Read() {
    for (size_t i = 0; i < list_.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string_view destination,
                       tree_.TextOfEntry(list_, i, "destination", "mounts"));
      seen_.insert(Hash(destination));
    }
    return OkStatus();
  }

  // The first mount there, or the list's size; then counts the destination as taken.
  StatusOr<size_t> Take(std::string_view destination) {
    if (seen_.insert(Hash(destination)).second) {
      return list_.size();
    }
    return FindEntry(tree_, list_, "mounts", "destination", destination);
  }

 private:
  static size_t Hash(std::string_view text) { return std::hash<std::string_view>()(text); }

  const Tree& tree_;
  const json::array& list_;
  std::unordered_set<size_t> seen_;
};

// An id of process.user; 0 if there is none.
StatusOr<uint64_t> ProcessId(const Tree& tree, std::string_view name) {
  const std::array<std::string_view, 3> path = {"process", "user", name};
  ASSIGN_OR_RETURN(const json::value* value, tree.Find(path));
  if (value == nullptr) {
    return uint64_t{0};
  }
  json::error_code error;
  const auto id = value->to_number<uint32_t>(error);
  if (error) {
    return tree.TypeError(fmt::format("process.user.{}", name), "a number from 0 to 4294967295");
  }
  return uint64_t{id};
}

class Editor {
 public:
  Editor(Spec& spec, const sys::Root& engine, BindOwners owners)
      : spec_(spec), tree_(spec.tree()), engine_(engine), owners_(owners) {}

  Status Apply(const cdi::ContainerEdits& edits) {
    if (edits.has_intel_rdt) {
      return Unimplemented("the CDI edits contain intelRdt, which is not supported here");
    }
    for (const std::string& variable : edits.env) {
      RETURN_IF_ERROR(spec_.SetEnv(variable));
    }
    RETURN_IF_ERROR(AddNodes(edits.device_nodes));
    RETURN_IF_ERROR(AddNetDevices(edits.net_devices));
    RETURN_IF_ERROR(AddMounts(edits.mounts));
    for (const cdi::Hook& hook : edits.hooks) {
      RETURN_IF_ERROR(AddHook(hook));
    }
    return AddGroups(edits.additional_gids);
  }

 private:
  Status AddNodes(const std::vector<cdi::DeviceNode>& nodes) {
    if (nodes.empty()) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const uint64_t uid, ProcessId(tree_, "uid"));
    ASSIGN_OR_RETURN(const uint64_t gid, ProcessId(tree_, "gid"));
    for (const cdi::DeviceNode& given : nodes) {
      ASSIGN_OR_RETURN(const FilledNode node, FillNode(given, engine_));
      json::object entry;
      entry["path"] = doc::View(given.path);
      entry["type"] = doc::View(node.type);
      entry["major"] = node.major;
      entry["minor"] = node.minor;
      if (node.file_mode) {
        entry["fileMode"] = *node.file_mode;
      }
      if (given.uid || uid > 0) {
        entry["uid"] = given.uid ? uint64_t{*given.uid} : uid;
      }
      if (given.gid || gid > 0) {
        entry["gid"] = given.gid ? uint64_t{*given.gid} : gid;
      }
      RETURN_IF_ERROR(PutNode(given.path, std::move(entry)));
      RETURN_IF_ERROR(Allow(given, node));
    }
    return OkStatus();
  }

  // The first node of the path goes; should there be a second, the new one takes its place.
  Status PutNode(const std::string& path, json::object entry) {
    ASSIGN_OR_RETURN(json::array * list, tree_.EditList(Field::kDevices));
    ASSIGN_OR_RETURN(size_t at, FindEntry(tree_, *list, "linux.devices", "path", path));
    if (at < list->size()) {
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
      ASSIGN_OR_RETURN(at, FindEntry(tree_, *list, "linux.devices", "path", path));
    }
    if (at < list->size()) {
      (*list)[at] = std::move(entry);
    } else {
      list->emplace_back(std::move(entry));
    }
    return OkStatus();
  }

  Status Allow(const cdi::DeviceNode& given, const FilledNode& node) {
    if (node.type != "b" && node.type != "c") {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(json::array * rules, tree_.EditList(Field::kDeviceRules));
    json::object rule;
    rule["allow"] = true;
    rule["type"] = doc::View(node.type);
    rule["major"] = node.major;
    rule["minor"] = node.minor;
    if (given.permissions != "none") {
      rule["access"] = given.permissions.empty() ? "rwm" : doc::View(given.permissions);
    }
    rules->emplace_back(std::move(rule));
    return OkStatus();
  }

  Status AddNetDevices(const std::vector<cdi::NetDevice>& devices) {
    for (const cdi::NetDevice& device : devices) {
      ASSIGN_OR_RETURN(json::object * map, tree_.EditMap(Field::kNetDevices));
      json::object entry;
      entry["name"] = doc::View(device.name);
      (*map)[doc::View(device.host_interface_name)] = std::move(entry);
    }
    return OkStatus();
  }

  Status AddMounts(const std::vector<cdi::Mount>& mounts) {
    if (mounts.empty()) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const bool has_user_namespace, spec_.HasUserNamespace());
    const bool is_mapped = has_user_namespace && owners_ == BindOwners::kMapped;
    ASSIGN_OR_RETURN(json::array * list, tree_.EditList(Field::kMounts));
    Destinations destinations(tree_, *list);
    RETURN_IF_ERROR(destinations.Read());
    list->reserve(list->size() + mounts.size());
    for (const cdi::Mount& mount : mounts) {
      ASSIGN_OR_RETURN(const size_t at, destinations.Take(mount.container_path));
      if (at < list->size()) {
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
      }
      list->emplace_back(MountEntry(mount, is_mapped, list->storage()));
    }
    return SortMounts(*list);
  }

  // In the tree's memory, so that nothing is copied into it.
  static json::object MountEntry(const cdi::Mount& mount, bool is_mapped,
                                 const json::storage_ptr& memory) {
    json::object entry(4, memory);
    entry["destination"] = doc::View(mount.container_path);
    if (!mount.type.empty()) {
      entry["type"] = doc::View(mount.type);
    }
    entry["source"] = doc::View(mount.host_path);
    json::array options(memory);
    options.reserve(mount.options.size() + 1);
    for (const std::string& option : mount.options) {
      options.emplace_back(doc::View(option));
    }
    if (const std::string_view option = MappingOption(mount); is_mapped && !option.empty()) {
      options.emplace_back(doc::View(option));
    }
    if (!options.empty()) {
      entry["options"] = std::move(options);
    }
    return entry;
  }

  // Empty for a mount that is no bind mount or already says how its owners are mapped.
  static std::string_view MappingOption(const cdi::Mount& mount) {
    std::string_view option = mount.type == "bind" ? "idmap" : "";
    for (const std::string& given : mount.options) {
      if (given == "idmap" || given == "ridmap") {
        return "";
      }
      if (given == "bind" || given == "rbind") {
        option = given == "bind" ? "idmap" : "ridmap";
      }
    }
    return option;
  }

  Status SortMounts(json::array& list) {
    std::vector<std::pair<size_t, size_t>> order;  // depth, index
    for (size_t i = 0; i < list.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string_view destination,
                       tree_.TextOfEntry(list, i, "destination", "mounts"));
      order.emplace_back(DepthOf(destination), i);
    }
    if (std::ranges::is_sorted(order)) {
      return OkStatus();
    }
    std::ranges::sort(order);
    json::array sorted(list.storage());
    sorted.reserve(list.size());
    for (const auto& [depth, index] : order) {
      sorted.push_back(std::move(list[index]));
    }
    list = std::move(sorted);
    return OkStatus();
  }

  Status AddHook(const cdi::Hook& hook) {
    const auto* const stage = std::ranges::find_if(
        kHookFields, [&](Field field) { return PathOf(field).back() == hook.hook_name; });
    if (stage == kHookFields.end()) {
      return InvalidArgument("\"{}\" is not a hook stage", Printable(hook.hook_name));
    }
    ASSIGN_OR_RETURN(json::array * list, tree_.EditList(*stage));
    json::object entry;
    entry["path"] = doc::View(hook.path);
    for (const auto& [name, words] : {std::pair("args", &hook.args), std::pair("env", &hook.env)}) {
      if (!words->empty()) {
        json::array& texts = entry[name].emplace_array();
        for (const std::string& word : *words) {
          texts.emplace_back(doc::View(word));
        }
      }
    }
    if (hook.timeout_seconds) {
      entry["timeout"] = *hook.timeout_seconds;
    }
    list->emplace_back(std::move(entry));
    return OkStatus();
  }

  Status AddGroups(const std::vector<uint32_t>& groups) {
    for (const uint32_t group : groups) {
      if (group == 0) {
        continue;
      }
      ASSIGN_OR_RETURN(json::array * list, tree_.EditList(Field::kAdditionalGids));
      const bool is_there = std::ranges::any_of(*list, [&](const json::value& value) {
        json::error_code error;
        return value.to_number<uint32_t>(error) == group && !error;
      });
      if (!is_there) {
        list->emplace_back(group);
      }
    }
    return OkStatus();
  }

  Spec& spec_;
  Tree& tree_;
  const sys::Root& engine_;
  BindOwners owners_;
};

}  // namespace

size_t DepthOf(std::string_view path) {
  const bool is_absolute = path.starts_with('/');
  size_t names = 0;
  size_t parents = 0;  // ".." that stay, at the front of a relative path
  for (size_t begin = 0, end = 0; begin <= path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == ".") {
      continue;
    }
    if (part != "..") {
      ++names;
    } else if (names > 0) {
      --names;
    } else if (!is_absolute) {
      ++parents;
    }
  }
  const size_t parts = names + parents;
  if (is_absolute) {
    return std::max<size_t>(parts, 1);
  }
  return parts > 0 ? parts - 1 : 0;
}

Status ApplyEdits(Spec& spec, const cdi::ContainerEdits& edits, const sys::Root& engine,
                  BindOwners owners) {
  return Editor(spec, engine, owners).Apply(edits);
}

}  // namespace kgpu::oci
