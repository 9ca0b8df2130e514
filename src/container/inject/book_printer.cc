// PrintBook of book.h, apart from the reader so that kgpu-runtime does not carry it.
#include <boost/json.hpp>

#include <optional>
#include <utility>

#include "src/container/inject/book.h"
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

json::object Tree(const BookNode& node) {
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

json::array Tree(const std::vector<BookNode>& nodes) {
  json::array list;
  for (const BookNode& node : nodes) {
    list.push_back(Tree(node));
  }
  return list;
}

json::object Tree(const BookDevice& device) {
  json::object out;
  out.emplace("names", Texts(device.names));
  PutText(out, "computeCapability", device.compute_capability);
  PutText(out, "brand", device.brand);
  PutTrue(out, "mig", device.is_mig);
  out.emplace("nodes", Tree(device.nodes));
  return out;
}

json::object Tree(const BookFile& file) {
  json::object out;
  PutText(out, "from", file.host_path);
  out.emplace("to", Texts(file.container_paths));
  PutText(out, "for", ToString(file.needed_by));
  PutTrue(out, "is32bit", file.is_32bit);
  PutTrue(out, "socket", file.is_socket);
  return out;
}

}  // namespace

std::string PrintBook(const Book& book) {
  json::array devices;
  for (const BookDevice& device : book.devices) {
    devices.push_back(Tree(device));
  }
  json::array files;
  for (const BookFile& file : book.files) {
    files.push_back(Tree(file));
  }
  json::object out;
  out.emplace("version", kBookVersion);
  PutText(out, "driverVersion", book.driver_version);
  PutText(out, "cudaVersion", book.cuda_version);
  out.emplace("env", Texts(book.env));
  out.emplace("devices", std::move(devices));
  out.emplace("nodes", Tree(book.nodes));
  out.emplace("files", std::move(files));
  return doc::PrintLine(out) + "\n";
}

}  // namespace kgpu::inject
