#include "testing/kubelet/checkpoint.h"

#include <boost/json.hpp>

#include <charconv>
#include <cstdint>
#include <utility>

#include "src/base/status_macros.h"
#include "src/doc/doc.h"
#include "testing/kubelet/base64.h"
#include "testing/kubelet/options_bytes.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

// FNV-1a over the text of "Data".
uint32_t ChecksumOf(std::string_view text) {
  uint32_t sum = 2166136261U;
  for (const char c : text) {
    sum = (sum ^ static_cast<uint8_t>(c)) * 16777619U;
  }
  return sum;
}

json::array ToJson(const std::vector<std::string>& ids) {
  json::array array;
  for (const std::string& id : ids) {
    array.emplace_back(id);
  }
  return array;
}

json::value EntriesJson(const std::vector<Assignment>& entries) {
  if (entries.empty()) {
    return nullptr;
  }
  json::array array;
  for (const Assignment& entry : entries) {
    json::object ids;
    for (const auto& [node, devices] : entry.by_node) {
      ids.emplace(std::to_string(node), ToJson(devices));
    }
    array.push_back(json::object{{"PodUID", entry.pod_uid},
                                 {"ContainerName", entry.container},
                                 {"ResourceName", entry.resource},
                                 {"DeviceIDs", std::move(ids)},
                                 {"AllocResp", ToBase64(ToBytes(entry.options))}});
  }
  return array;
}

// Reads fields of one object and names them in errors.
class Fields {
 public:
  Fields(const json::value& value, std::string where) : value_(value), where_(std::move(where)) {}

  StatusOr<Fields> Field(std::string_view name) const {
    const json::object* object = value_.if_object();
    const json::value* field =
        object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
    if (field == nullptr) {
      return InvalidArgument("{}: has no field {}", where_, name);
    }
    return Fields(*field, fmt::format("{}.{}", where_, name));
  }
  StatusOr<std::string> Text() const {
    const json::string* text = value_.if_string();
    if (text == nullptr) {
      return InvalidArgument("{}: must be a string", where_);
    }
    return std::string(text->data(), text->size());
  }
  StatusOr<std::string> TextField(std::string_view name) const {
    ASSIGN_OR_RETURN(const Fields field, Field(name));
    return field.Text();
  }
  StatusOr<std::vector<std::string>> Texts() const {
    const json::array* array = value_.if_array();
    if (array == nullptr) {
      return InvalidArgument("{}: must be a list", where_);
    }
    std::vector<std::string> texts;
    for (const json::value& item : *array) {
      ASSIGN_OR_RETURN(std::string text, Fields(item, where_).Text());
      texts.push_back(std::move(text));
    }
    return texts;
  }
  // Calls `read(key, value)` for each field of an object.
  template <typename Read>
  Status ForEach(Read read) const {
    const json::object* object = value_.if_object();
    if (object == nullptr) {
      return InvalidArgument("{}: must be an object", where_);
    }
    for (const auto& [key, value] : *object) {
      const std::string name(key.data(), key.size());
      RETURN_IF_ERROR(read(name, Fields(value, fmt::format("{}.{}", where_, name))));
    }
    return OkStatus();
  }
  const json::value& value() const { return value_; }
  const std::string& where() const { return where_; }

 private:
  const json::value& value_;
  std::string where_;
};

StatusOr<int64_t> ParseNode(const std::string& key, const Fields& field) {
  int64_t node = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), node);
  if (error != std::errc() || end != key.data() + key.size()) {
    return InvalidArgument("{}: the key must be a NUMA node's number or -1", field.where());
  }
  return node;
}

StatusOr<Assignment> ParseEntry(const Fields& fields) {
  Assignment entry;
  ASSIGN_OR_RETURN(entry.pod_uid, fields.TextField("PodUID"));
  ASSIGN_OR_RETURN(entry.container, fields.TextField("ContainerName"));
  ASSIGN_OR_RETURN(entry.resource, fields.TextField("ResourceName"));
  ASSIGN_OR_RETURN(const Fields ids, fields.Field("DeviceIDs"));
  RETURN_IF_ERROR(ids.ForEach([&entry](const std::string& key, const Fields& field) -> Status {
    ASSIGN_OR_RETURN(const int64_t node, ParseNode(key, field));
    ASSIGN_OR_RETURN(entry.by_node[node], field.Texts());
    return OkStatus();
  }));
  ASSIGN_OR_RETURN(const std::string encoded, fields.TextField("AllocResp"));
  const StatusOr<std::string> bytes = FromBase64(encoded);
  if (!bytes.ok()) {
    return Annotate(bytes.status(), "{}.AllocResp", fields.where());
  }
  StatusOr<ContainerOptions> options = OptionsFromBytes(*bytes);
  if (!options.ok()) {
    return Annotate(options.status(), "{}.AllocResp", fields.where());
  }
  entry.options = *std::move(options);
  return entry;
}

Status ParseEntries(const Fields& list, Checkpoint& checkpoint) {
  const json::array* array = list.value().if_array();
  if (array == nullptr && !list.value().is_null()) {
    return InvalidArgument("{}: must be a list or null", list.where());
  }
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    ASSIGN_OR_RETURN(Assignment entry,
                     ParseEntry(Fields((*array)[i], fmt::format("{}[{}]", list.where(), i))));
    checkpoint.entries.push_back(std::move(entry));
  }
  return OkStatus();
}

Status CheckSum(const Fields& data, const Fields& checksum) {
  const json::value& value = checksum.value();
  const uint32_t expected = ChecksumOf(doc::PrintLine(data.value()));
  if ((value.is_int64() && value.get_int64() == int64_t{expected}) ||
      (value.is_uint64() && value.get_uint64() == uint64_t{expected})) {
    return OkStatus();
  }
  return InvalidArgument("{}: is not {}: somebody else wrote to this file; remove it",
                         checksum.where(), expected);
}

}  // namespace

std::string PrintCheckpoint(const Checkpoint& checkpoint) {
  json::object registered;
  for (const auto& [resource, ids] : checkpoint.registered) {
    registered.emplace(resource, ToJson(ids));
  }
  json::value data = json::object{{"PodDeviceEntries", EntriesJson(checkpoint.entries)},
                                  {"RegisteredDevices", std::move(registered)}};
  const uint32_t sum = ChecksumOf(doc::PrintLine(data));
  return doc::PrintLine(json::object{{"Data", std::move(data)}, {"Checksum", sum}});
}

StatusOr<Checkpoint> ParseCheckpoint(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = kCheckpointLimit}));
  const Fields top(tree, std::string(file));
  ASSIGN_OR_RETURN(const Fields data, top.Field("Data"));
  ASSIGN_OR_RETURN(const Fields checksum, top.Field("Checksum"));
  RETURN_IF_ERROR(CheckSum(data, checksum));
  Checkpoint checkpoint;
  ASSIGN_OR_RETURN(const Fields entries, data.Field("PodDeviceEntries"));
  RETURN_IF_ERROR(ParseEntries(entries, checkpoint));
  ASSIGN_OR_RETURN(const Fields registered, data.Field("RegisteredDevices"));
  RETURN_IF_ERROR(registered.ForEach([&checkpoint](const std::string& key, const Fields& field) {
    StatusOr<std::vector<std::string>> ids = field.Texts();
    if (ids.ok()) {
      checkpoint.registered[key] = *std::move(ids);
    }
    return ids.status();
  }));
  return checkpoint;
}

}  // namespace kgpu::kubelet
