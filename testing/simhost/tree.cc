#include "testing/simhost/tree.h"

#include <fmt/format.h>

#include <utility>

namespace kgpu::simhost {

bool Node::operator==(const Node& other) const {
  const bool same_bytes = bytes == other.bytes ||
                          (bytes != nullptr && other.bytes != nullptr && *bytes == *other.bytes);
  return kind == other.kind && mode == other.mode && same_bytes && target == other.target &&
         major == other.major && minor == other.minor;
}

void Tree::Add(std::string_view path, Node node) {
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    nodes_.try_emplace(std::string(path.substr(0, slash)));
  }
  nodes_.insert_or_assign(std::string(path), std::move(node));
}

void Tree::Folder(std::string_view path) {
  Add(path, {});
}

void Tree::File(std::string_view path, std::string bytes, mode_t mode) {
  SharedFile(path, std::make_shared<const std::string>(std::move(bytes)), mode);
}

void Tree::SharedFile(std::string_view path, std::shared_ptr<const std::string> bytes,
                      mode_t mode) {
  Node node;
  node.kind = Node::Kind::kFile;
  node.mode = mode;
  node.bytes = std::move(bytes);
  Add(path, std::move(node));
}

void Tree::Link(std::string_view path, std::string target) {
  Node node;
  node.kind = Node::Kind::kLink;
  node.mode = 0777;
  node.target = std::move(target);
  Add(path, std::move(node));
}

void Tree::CharDevice(std::string_view path, unsigned major, unsigned minor, mode_t mode) {
  Node node;
  node.kind = Node::Kind::kCharDevice;
  node.mode = mode;
  node.major = major;
  node.minor = minor;
  Add(path, std::move(node));
}

const Node* Tree::Find(std::string_view path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::string Listing(const Tree& tree) {
  std::string text;
  for (const auto& [path, node] : tree.nodes()) {
    switch (node.kind) {
      case Node::Kind::kFolder:
        text += fmt::format("d {:04o} {}/\n", node.mode, path);
        break;
      case Node::Kind::kFile:
        text += fmt::format("f {:04o} {}\n", node.mode, path);
        break;
      case Node::Kind::kLink:
        text += fmt::format("l {:04o} {} -> {}\n", node.mode, path, node.target);
        break;
      case Node::Kind::kCharDevice:
        text += fmt::format("c {:04o} {} {}:{}\n", node.mode, path, node.major, node.minor);
        break;
    }
  }
  return text;
}

}  // namespace kgpu::simhost
