// ParseIndex of index.h.
#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/container/inject/index.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::inject {
namespace {

namespace json = boost::json;
using doc::ReadFlag;
using doc::ReadText;

// Paths to what is wrong are put together on the way out of an error, never for a good file:
// kgpu-runtime reads one at every create.

Status ReadPath(const json::value& value, std::string& out) {
  RETURN_IF_ERROR(ReadText(value, out));
  if (!out.starts_with('/') || out.find('\0') != std::string::npos) {
    return InvalidArgument("\"{}\" must be an absolute path", Printable(out, 80));
  }
  return OkStatus();
}

Status ReadNumber(const json::value& value, std::optional<int64_t>& out) {
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < 0 || *number > UINT32_MAX) {
    return InvalidArgument("must be an integer from 0 to {}", UINT32_MAX);
  }
  out = *number;
  return OkStatus();
}

Status ReadCapabilities(const json::value& value, CapabilitySet& out) {
  std::string text;
  RETURN_IF_ERROR(ReadText(value, text));
  ASSIGN_OR_RETURN(out, ParseCapabilities(text));
  return OkStatus();
}

template <typename T, typename Read>
Status ReadList(const json::value& value, std::vector<T>& out, Read read) {
  const json::array* list = value.if_array();
  if (list == nullptr) {
    return InvalidArgument("must be a list");
  }
  out.reserve(list->size());
  for (const json::value& item : *list) {
    if (Status status = read(item, out.emplace_back()); !status.ok()) {
      return Annotate(status, "[{}]", out.size() - 1);
    }
  }
  return OkStatus();
}

// `read` gets the name and value of each field; what it does not know it refuses with UnknownField.
template <typename Read>
Status ReadFields(const json::value& value, Read read) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return InvalidArgument("must be a map");
  }
  for (const auto& [key, field] : *object) {
    const std::string_view name(key.data(), key.size());
    if (Status status = read(name, field); !status.ok()) {
      return Annotate(status, "{}", Printable(name, 60));
    }
  }
  return OkStatus();
}

Status UnknownField() {
  return InvalidArgument("unknown field");
}

Status ReadNode(const json::value& value, IndexNode& out) {
  RETURN_IF_ERROR(ReadFields(value, [&out](std::string_view name, const json::value& field) {
    if (name == "path" || name == "hostPath") {
      return ReadPath(field, name == "path" ? out.node.path : out.node.host_path);
    }
    if (name == "major" || name == "minor") {
      return ReadNumber(field, name == "major" ? out.node.major : out.node.minor);
    }
    if (name == "type" || name == "permissions") {
      return ReadText(field, name == "type" ? out.node.type : out.node.permissions);
    }
    return name == "for" ? ReadCapabilities(field, out.needed_by) : UnknownField();
  }));
  return out.node.path.empty() ? InvalidArgument("path is missing") : OkStatus();
}

Status ReadDevice(const json::value& value, IndexDevice& out) {
  RETURN_IF_ERROR(ReadFields(value, [&out](std::string_view name, const json::value& field) {
    if (name == "names") {
      return ReadList(field, out.names, ReadText);
    }
    if (name == "nodes") {
      return ReadList(field, out.nodes, ReadNode);
    }
    if (name == "computeCapability" || name == "brand") {
      return ReadText(field, name == "brand" ? out.brand : out.compute_capability);
    }
    return name == "mig" ? ReadFlag(field, out.is_mig) : UnknownField();
  }));
  return out.names.empty() ? InvalidArgument("names are missing") : OkStatus();
}

Status ReadFile(const json::value& value, IndexFile& out) {
  RETURN_IF_ERROR(ReadFields(value, [&out](std::string_view name, const json::value& field) {
    if (name == "from") {
      return ReadPath(field, out.host_path);
    }
    if (name == "to") {
      return ReadList(field, out.container_paths, ReadPath);
    }
    if (name == "is32bit" || name == "socket") {
      return ReadFlag(field, name == "socket" ? out.is_socket : out.is_32bit);
    }
    return name == "for" ? ReadCapabilities(field, out.needed_by) : UnknownField();
  }));
  return out.host_path.empty() ? InvalidArgument("from is missing") : OkStatus();
}

// Looked at before anything else, so that a file of another age is not called wrong.
Status CheckVersion(const json::value& tree) {
  const json::object* object = tree.if_object();
  const json::value* version = object == nullptr ? nullptr : object->if_contains("version");
  if (version == nullptr || !version->is_int64()) {
    return InvalidArgument("version: must be {}", kIndexVersion);
  }
  if (version->get_int64() != kIndexVersion) {
    return FailedPrecondition(
        "version {} was written by another release of kgpu, this one supports {}: install all kgpu "
        "programs from one release, then run kgpu cdi generate or restart the agent",
        version->get_int64(), kIndexVersion);
  }
  return OkStatus();
}

Status ReadIndex(const json::value& tree, InjectionIndex& index) {
  RETURN_IF_ERROR(CheckVersion(tree));
  return ReadFields(tree, [&index](std::string_view name, const json::value& field) {
    if (name == "devices") {
      return ReadList(field, index.devices, ReadDevice);
    }
    if (name == "nodes") {
      return ReadList(field, index.nodes, ReadNode);
    }
    if (name == "files") {
      return ReadList(field, index.files, ReadFile);
    }
    if (name == "env") {
      return ReadList(field, index.env, ReadText);
    }
    if (name == "driverVersion" || name == "cudaVersion") {
      return ReadText(field, name == "cudaVersion" ? index.cuda_version : index.driver_version);
    }
    return name == "version" ? OkStatus() : UnknownField();
  });
}

}  // namespace

StatusOr<InjectionIndex> ParseIndex(std::string_view text, std::string_view file) {
  if (text.size() > kIndexLimit) {
    return InvalidArgument("{}: {} bytes exceed the limit of {}", file, text.size(), kIndexLimit);
  }
  json::monotonic_resource memory(text.size() * 4);
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::ParseJson(text, file, doc::Limits{.depth = 8}, &memory));
  InjectionIndex index;
  if (Status status = ReadIndex(tree, index); !status.ok()) {
    return Annotate(status, "{}", file);
  }
  return index;
}

}  // namespace kgpu::inject
