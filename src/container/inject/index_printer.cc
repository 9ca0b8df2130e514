// PrintIndex of index.h, apart from the reader so that kgpu-runtime does not carry it.
#include <boost/json.hpp>

#include <optional>
#include <utility>

#include "src/container/inject/index.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::inject {
namespace {

namespace json = boost::json;

using doc::Texts;

void PutText(json::object& out, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    out.emplace(key, text);
  }
}

void PutNumber(json::object& out, std::string_view key, const std::optional<int64_t>& number) {
  if (number) {
    out.emplace(key, *number);
  }
}

void PutTrue(json::object& out, std::string_view key, bool claim) {
  if (claim) {
    out.emplace(key, true);
  }
}

json::object Tree(const IndexNode& node) {
  json::object out;
  PutText(out, "path", node.node.path);
  PutText(out, "hostPath", node.node.host_path);
  PutText(out, "type", node.node.type);
  PutNumber(out, "major", node.node.major);
  PutNumber(out, "minor", node.node.minor);
  PutText(out, "permissions", node.node.permissions);
  PutText(out, "for", ToString(node.needed_by));
  return out;
}

json::array Tree(const std::vector<IndexNode>& nodes) {
  json::array list;
  for (const IndexNode& node : nodes) {
    list.push_back(Tree(node));
  }
  return list;
}

json::object Tree(const IndexDevice& device) {
  json::object out;
  out.emplace("names", Texts(device.names));
  PutText(out, "computeCapability", device.compute_capability);
  PutText(out, "brand", device.brand);
  PutTrue(out, "mig", device.is_mig);
  out.emplace("nodes", Tree(device.nodes));
  return out;
}

json::object Tree(const IndexFile& file) {
  json::object out;
  PutText(out, "from", file.host_path);
  out.emplace("to", Texts(file.container_paths));
  PutText(out, "for", ToString(file.needed_by));
  PutTrue(out, "is32bit", file.is_32bit);
  PutTrue(out, "socket", file.is_socket);
  return out;
}

}  // namespace

std::string PrintIndex(const InjectionIndex& index) {
  json::array devices;
  for (const IndexDevice& device : index.devices) {
    devices.push_back(Tree(device));
  }
  json::array files;
  for (const IndexFile& file : index.files) {
    files.push_back(Tree(file));
  }
  json::object out;
  out.emplace("version", kIndexVersion);
  PutText(out, "driverVersion", index.driver_version);
  PutText(out, "cudaVersion", index.cuda_version);
  out.emplace("env", Texts(index.env));
  out.emplace("devices", std::move(devices));
  out.emplace("nodes", Tree(index.nodes));
  out.emplace("files", std::move(files));
  return doc::PrintLine(out) + "\n";
}

}  // namespace kgpu::inject
