// A file tree as a value: the content of a simulated host, before anything is written.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace kgpu::simhost {

// One entry of a tree. Regular files share their bytes, since the driver library is large.
struct Node {
  enum class Kind { kFolder, kFile, kLink, kCharDevice };
  Kind kind = Kind::kFolder;
  mode_t mode = 0755;
  std::shared_ptr<const std::string> bytes;  // of a file
  std::string target;                        // of a link
  unsigned major = 0;                        // of a device
  unsigned minor = 0;

  bool operator==(const Node& other) const;
};

// Paths are relative to the host's root, without leading slash and without "." or "..", so that
// none can lead outside. Folders above an entry exist implicitly.
class Tree {
 public:
  void Folder(std::string_view path);
  void File(std::string_view path, std::string bytes, mode_t mode = 0644);
  void SharedFile(std::string_view path, std::shared_ptr<const std::string> bytes,
                  mode_t mode = 0644);
  void Link(std::string_view path, std::string target);
  void CharDevice(std::string_view path, unsigned major, unsigned minor, mode_t mode);

  const std::map<std::string, Node, std::less<>>& nodes() const { return nodes_; }
  const Node* Find(std::string_view path) const;

 private:
  void Add(std::string_view path, Node node);

  std::map<std::string, Node, std::less<>> nodes_;
};

// One line for each entry: kind, mode, path, and target or device number. For golden files.
std::string Listing(const Tree& tree);

}  // namespace kgpu::simhost
