#include <boost/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "src/container/cdi/spec_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cdi {
namespace {

namespace json = boost::json;

// One place in the tree: the value and the path of fields that leads to it.
class Node {
 public:
  Node(const json::value& value, std::string path) : value_(value), path_(std::move(path)) {}

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  // Calls `read` for every field that is not null; a field that `read` does not know (false) is an
  // error offering the nearest of `known`.
  template <typename Read>
  Status ForEachField(const std::vector<std::string_view>& known, Read read) const {
    const json::object* object = value_.if_object();
    if (object == nullptr) {
      return Error("must be a map");
    }
    for (const auto& [key, value] : *object) {
      const std::string_view name(key.data(), key.size());
      const Node field(value, fmt::format("{}.{}", path_, Printable(name, 60)));
      if (std::ranges::find(known, name) == known.end()) {
        const std::optional<std::string_view> nearest = Nearest(name, known);
        return nearest ? field.Error("unknown field, did you mean \"{}\"?", *nearest)
                       : field.Error("unknown field, known fields are {}", fmt::join(known, ", "));
      }
      if (!value.is_null()) {
        RETURN_IF_ERROR(read(name, field));
      }
    }
    return OkStatus();
  }

  template <typename Read>
  Status ForEachItem(Read read) const {
    const json::array* array = value_.if_array();
    if (array == nullptr) {
      return Error("must be a list");
    }
    for (size_t i = 0; i < array->size(); ++i) {
      RETURN_IF_ERROR(read(Node((*array)[i], fmt::format("{}[{}]", path_, i))));
    }
    return OkStatus();
  }

  Status Read(std::string& out) const {
    const json::string* text = value_.if_string();
    if (text == nullptr) {
      return Error("must be a string: put it in quotes");
    }
    out.assign(text->data(), text->size());
    return OkStatus();
  }

  Status Read(std::vector<std::string>& out) const {
    return ForEachItem([&out](const Node& item) { return item.Read(out.emplace_back()); });
  }

  Status Read(std::optional<int64_t>& out) const {
    ASSIGN_OR_RETURN(
        out, Integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
    return OkStatus();
  }

  Status Read(std::optional<uint32_t>& out) const {
    ASSIGN_OR_RETURN(const int64_t number, Integer(0, UINT32_MAX));
    out = static_cast<uint32_t>(number);
    return OkStatus();
  }

  Status Read(std::vector<uint32_t>& out) const {
    return ForEachItem([&out](const Node& item) -> Status {
      ASSIGN_OR_RETURN(const int64_t number, item.Integer(0, UINT32_MAX));
      out.push_back(static_cast<uint32_t>(number));
      return OkStatus();
    });
  }

  Status Read(std::vector<Annotation>& out) const {
    const json::object* object = value_.if_object();
    if (object == nullptr) {
      return Error("must be a map of annotations");
    }
    for (const auto& [key, value] : *object) {
      Annotation& annotation = out.emplace_back();
      annotation.key.assign(key.data(), key.size());
      const Node item(value, fmt::format("{}.{}", path_, Printable(annotation.key, 60)));
      RETURN_IF_ERROR(item.Read(annotation.value));
    }
    return OkStatus();
  }

  Status Read(DeviceNode& out) const {
    return ForEachField(
        {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"},
        [&out](std::string_view name, const Node& field) {
          if (name == "path") {
            return field.Read(out.path);
          }
          if (name == "hostPath") {
            return field.Read(out.host_path);
          }
          if (name == "type") {
            return field.Read(out.type);
          }
          if (name == "major") {
            return field.Read(out.major);
          }
          if (name == "minor") {
            return field.Read(out.minor);
          }
          if (name == "fileMode") {
            return field.Read(out.file_mode);
          }
          if (name == "permissions") {
            return field.Read(out.permissions);
          }
          return field.Read(name == "uid" ? out.uid : out.gid);
        });
  }

  Status Read(Mount& out) const {
    return ForEachField({"hostPath", "containerPath", "options", "type"},
                        [&out](std::string_view name, const Node& field) {
                          if (name == "options") {
                            return field.Read(out.options);
                          }
                          if (name == "hostPath") {
                            return field.Read(out.host_path);
                          }
                          return field.Read(name == "type" ? out.type : out.container_path);
                        });
  }

  Status Read(Hook& out) const {
    return ForEachField({"hookName", "path", "args", "env", "timeout"},
                        [&out](std::string_view name, const Node& field) {
                          if (name == "args" || name == "env") {
                            return field.Read(name == "args" ? out.args : out.env);
                          }
                          if (name == "timeout") {
                            return field.Read(out.timeout_seconds);
                          }
                          return field.Read(name == "path" ? out.path : out.hook_name);
                        });
  }

  Status Read(NetDevice& out) const {
    return ForEachField({"hostInterfaceName", "name"},
                        [&out](std::string_view name, const Node& field) {
                          return field.Read(name == "name" ? out.name : out.host_interface_name);
                        });
  }

  Status Read(ContainerEdits& out) const {
    // SPEC.md's example spells additionalGIDs, its schema additionalGids; engines take both.
    return ForEachField({"env", "deviceNodes", "netDevices", "hooks", "mounts", "intelRdt",
                         "additionalGids", "additionalGIDs"},
                        [&out](std::string_view name, const Node& field) {
                          if (name == "env") {
                            return field.Read(out.env);
                          }
                          if (name == "deviceNodes") {
                            return field.ReadList(out.device_nodes);
                          }
                          if (name == "netDevices") {
                            return field.ReadList(out.net_devices);
                          }
                          if (name == "hooks") {
                            return field.ReadList(out.hooks);
                          }
                          if (name == "mounts") {
                            return field.ReadList(out.mounts);
                          }
                          if (name == "intelRdt") {
                            out.has_intel_rdt = true;
                            return field.CheckIntelRdt();
                          }
                          return field.Read(out.additional_gids);
                        });
  }

  Status Read(Device& out) const {
    return ForEachField({"name", "annotations", "containerEdits"}, [&out](std::string_view name,
                                                                          const Node& field) {
      if (name == "name") {
        return field.Read(out.name);
      }
      return name == "annotations" ? field.Read(out.annotations) : field.Read(out.edits);
    });
  }

  Status Read(Spec& out) const {
    return ForEachField({"cdiVersion", "kind", "annotations", "devices", "containerEdits"},
                        [&out](std::string_view name, const Node& field) {
                          if (name == "cdiVersion") {
                            return field.Read(out.version);
                          }
                          if (name == "kind") {
                            return field.Read(out.kind);
                          }
                          if (name == "annotations") {
                            return field.Read(out.annotations);
                          }
                          return name == "devices" ? field.ReadList(out.devices)
                                                   : field.Read(out.edits);
                        });
  }

 private:
  template <typename T>
  Status ReadList(std::vector<T>& out) const {
    return ForEachItem([&out](const Node& item) { return item.Read(out.emplace_back()); });
  }

  Status CheckIntelRdt() const {
    return ForEachField({"closID", "l3CacheSchema", "memBwSchema", "schemata", "enableMonitoring",
                         "enableCMT", "enableMBM"},
                        [](std::string_view, const Node&) { return OkStatus(); });
  }

  StatusOr<int64_t> Integer(int64_t low, int64_t high) const {
    const int64_t* number = value_.if_int64();
    if (number == nullptr || *number < low || *number > high) {
      return Error("must be an integer from {} to {}", low, high);
    }
    return *number;
  }

  const json::value& value_;
  std::string path_;
};

}  // namespace

StatusOr<Spec> ParseSpec(std::string_view text, doc::Format format, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(text, format, file, doc::Limits{.bytes = kSpecLimit}));
  Spec spec;
  RETURN_IF_ERROR(Node(tree, std::string(file)).Read(spec));
  if (spec.version.starts_with('v')) {
    spec.version.erase(0, 1);
  }
  return spec;
}

}  // namespace kgpu::cdi
