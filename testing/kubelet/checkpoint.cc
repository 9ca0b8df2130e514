#include "testing/kubelet/checkpoint.h"

#include <boost/json.hpp>

#include <charconv>
#include <cstdint>
#include <utility>

#include "src/platform/base/base64.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/json_fields.h"
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
                                 {"AllocResp", EncodeBase64(ToBytes(entry.options))}});
  }
  return array;
}

StatusOr<int64_t> ParseNode(const std::string& key, const JsonFields& field) {
  int64_t node = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), node);
  if (error != std::errc() || end != key.data() + key.size()) {
    return InvalidArgument("{}: the key must be a NUMA node's number or -1", field.where());
  }
  return node;
}

StatusOr<Assignment> ParseEntry(const JsonFields& fields) {
  Assignment entry;
  RETURN_IF_ERROR(fields.Require("PodUID", entry.pod_uid));
  RETURN_IF_ERROR(fields.Require("ContainerName", entry.container));
  RETURN_IF_ERROR(fields.Require("ResourceName", entry.resource));
  ASSIGN_OR_RETURN(const JsonFields ids, fields.Field("DeviceIDs"));
  RETURN_IF_ERROR(
      ids.ForEachField([&entry](const std::string& key, const JsonFields& field) -> Status {
        ASSIGN_OR_RETURN(const int64_t node, ParseNode(key, field));
        return field.Get(entry.by_node[node]);
      }));
  std::string encoded;
  RETURN_IF_ERROR(fields.Require("AllocResp", encoded));
  const StatusOr<std::string> bytes = DecodeBase64(encoded);
  if (!bytes.ok()) {
    return Annotate(bytes.status(), "{}", fields.PathOf("AllocResp"));
  }
  StatusOr<ContainerOptions> options = OptionsFromBytes(*bytes);
  if (!options.ok()) {
    return Annotate(options.status(), "{}", fields.PathOf("AllocResp"));
  }
  entry.options = *std::move(options);
  return entry;
}

Status CheckSum(const JsonFields& data, const JsonFields& checksum) {
  const json::value& value = checksum.value();
  const uint32_t expected = ChecksumOf(doc::PrintLine(data.value()));
  if ((value.is_int64() && value.get_int64() == int64_t{expected}) ||
      (value.is_uint64() && value.get_uint64() == uint64_t{expected})) {
    return OkStatus();
  }
  return InvalidArgument("{}: is not {}: another program wrote this file; remove it",
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
  const JsonFields top(tree, std::string(file));
  ASSIGN_OR_RETURN(const JsonFields data, top.Field("Data"));
  Checkpoint checkpoint;
  ASSIGN_OR_RETURN(const JsonFields entries, data.Field("PodDeviceEntries"));
  RETURN_IF_ERROR(entries.ForEachItem([&checkpoint](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(Assignment entry, ParseEntry(item));
    checkpoint.entries.push_back(std::move(entry));
    return OkStatus();
  }));
  RETURN_IF_ERROR(data.Require("RegisteredDevices", checkpoint.registered));
  ASSIGN_OR_RETURN(const JsonFields checksum, top.Field("Checksum"));
  RETURN_IF_ERROR(CheckSum(data, checksum));
  return checkpoint;
}

}  // namespace kgpu::kubelet
