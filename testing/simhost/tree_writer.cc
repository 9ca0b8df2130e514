#include "testing/simhost/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::simhost {
namespace {

// New entries are born under this name and renamed, so that readers see the old or the new one.
constexpr std::string_view kTemporarySuffix = ".kgpu-sim-new";

Status WriteBytes(const std::string& path, std::string_view bytes) {
  const UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "create " + path);
  }
  while (!bytes.empty()) {
    const ssize_t count = write(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return ErrnoStatus(errno, "write " + path);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return OkStatus();
}

bool MayNotMakeNodes(int error) {
  return error == EPERM || error == EACCES;
}

class TreeWriter {
 public:
  explicit TreeWriter(const std::string& folder) : folder_(folder) {}

  Status Remove(const std::string& path, const Node& node);
  Status Write(const std::string& path, const Node& node);
  const WriteReport& report() const { return report_; }

 private:
  std::string At(std::string_view path) const { return fmt::format("{}/{}", folder_, path); }
  Status MakeFolder(const std::string& path, mode_t mode);
  // Makes the entry at a temporary name.
  Status MakeEntry(const std::string& path, const Node& node);
  Status MakeDevice(const std::string& path, const Node& node);

  const std::string& folder_;
  WriteReport report_;
};

Status TreeWriter::Remove(const std::string& path, const Node& node) {
  const std::string full = At(path);
  if (node.kind == Node::Kind::kFolder) {
    // Others may keep files there: a socket, a CDI spec.
    if (rmdir(full.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT) {
      return ErrnoStatus(errno, "remove folder " + full);
    }
  } else if (unlink(full.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "remove " + full);
  }
  ++report_.removed;
  return OkStatus();
}

Status TreeWriter::MakeFolder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create folder " + path);
  }
  if (chmod(path.c_str(), mode) != 0) {
    return ErrnoStatus(errno, "chmod " + path);
  }
  return OkStatus();
}

Status TreeWriter::MakeDevice(const std::string& path, const Node& node) {
  if (mknod(path.c_str(), S_IFCHR | 0600, makedev(node.major, node.minor)) == 0) {
    return OkStatus();
  }
  if (!MayNotMakeNodes(errno)) {
    return ErrnoStatus(errno, "mknod " + path);
  }
  ++report_.nodes_faked;
  return WriteBytes(path, "");
}

Status TreeWriter::MakeEntry(const std::string& path, const Node& node) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "remove " + path);
  }
  if (node.kind == Node::Kind::kLink) {
    if (symlink(node.target.c_str(), path.c_str()) != 0) {
      return ErrnoStatus(errno, "link " + path);
    }
    return OkStatus();
  }
  if (node.kind == Node::Kind::kCharDevice) {
    RETURN_IF_ERROR(MakeDevice(path, node));
  } else {
    RETURN_IF_ERROR(WriteBytes(path, *node.bytes));
  }
  // Not in the calls above: the umask would have a say there.
  if (chmod(path.c_str(), node.mode) != 0) {
    return ErrnoStatus(errno, "chmod " + path);
  }
  return OkStatus();
}

Status TreeWriter::Write(const std::string& path, const Node& node) {
  const std::string full = At(path);
  ++report_.written;
  if (node.kind == Node::Kind::kFolder) {
    return MakeFolder(full, node.mode);
  }
  const std::string temporary = full + std::string(kTemporarySuffix);
  RETURN_IF_ERROR(MakeEntry(temporary, node));
  if (rename(temporary.c_str(), full.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return ErrnoStatus(error, "replace " + full);
  }
  return OkStatus();
}

StatusOr<std::string> ReadBytes(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "open " + path);
  }
  std::string bytes;
  std::array<char, size_t{64} << 10> buffer;
  while (true) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return ErrnoStatus(errno, "read " + path);
    }
    if (count == 0) {
      return bytes;
    }
    bytes.append(buffer.data(), static_cast<size_t>(count));
  }
}

// Adds what lies at `full` to `tree` as `path`.
Status ReadNode(const std::string& full, const std::string& path, Tree& tree) {
  struct stat info{};
  if (lstat(full.c_str(), &info) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? OkStatus() : ErrnoStatus(errno, "stat " + full);
  }
  const mode_t mode = info.st_mode & 07777;
  if (S_ISDIR(info.st_mode)) {
    tree.Folder(path);
  } else if (S_ISCHR(info.st_mode)) {
    tree.CharDevice(path, major(info.st_rdev), minor(info.st_rdev), mode);
  } else if (S_ISLNK(info.st_mode)) {
    std::array<char, 4096> target;
    const ssize_t size = readlink(full.c_str(), target.data(), target.size());
    tree.Link(path, size < 0 ? "" : std::string(target.data(), static_cast<size_t>(size)));
  } else if (S_ISREG(info.st_mode)) {
    ASSIGN_OR_RETURN(std::string bytes, ReadBytes(full));
    tree.File(path, std::move(bytes), mode);
  }
  return OkStatus();
}

StatusOr<std::string> ReadManifest(const std::string& path) {
  StatusOr<std::string> text = ReadBytes(path);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
    return std::string();
  }
  return text;
}

Status WriteManifest(const std::string& path, const std::set<std::string>& paths) {
  std::string lines;
  for (const std::string& line : paths) {
    lines += line;
    lines += '\n';
  }
  // As durable as the tree it names.
  return sys::WriteFileAtomically(path, lines, 0644, sys::Durability::kMemory);
}

void AddPaths(const Tree& tree, std::set<std::string>& paths) {
  for (const auto& [path, node] : tree.nodes()) {
    paths.insert(path);
  }
}

bool IsPlainPath(std::string_view path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  return std::ranges::none_of(
      parts, [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

}  // namespace

std::vector<TreeChange> Difference(const Tree& before, const Tree& after) {
  std::vector<TreeChange> changes;
  // Reverse order of names puts what is in a folder before the folder.
  for (auto entry = before.nodes().rbegin(); entry != before.nodes().rend(); ++entry) {
    const Node* wanted = after.Find(entry->first);
    const bool was_folder = entry->second.kind == Node::Kind::kFolder;
    if (wanted == nullptr || was_folder != (wanted->kind == Node::Kind::kFolder)) {
      changes.push_back({TreeChange::Kind::kRemove, entry->first});
    }
  }
  for (const auto& [path, node] : after.nodes()) {
    const Node* there = before.Find(path);
    if (there == nullptr || !(*there == node)) {
      changes.push_back({TreeChange::Kind::kWrite, path});
    }
  }
  return changes;
}

StatusOr<Tree> ReadTree(const std::string& folder, const std::set<std::string>& paths) {
  Tree tree;
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(ReadNode(fmt::format("{}/{}", folder, path), path, tree));
  }
  return tree;
}

StatusOr<WriteReport> Advance(const std::string& folder, const std::string& manifest_path,
                              const Tree& before, const Tree& wanted) {
  // Until all is done the manifest names the old and the new, so that a crash leaves nothing behind
  // that nobody knows of.
  std::set<std::string> paths;
  AddPaths(before, paths);
  AddPaths(wanted, paths);
  RETURN_IF_ERROR(WriteManifest(manifest_path, paths));
  TreeWriter writer(folder);
  for (const TreeChange& change : Difference(before, wanted)) {
    const bool is_removal = change.kind == TreeChange::Kind::kRemove;
    const Node& node = *(is_removal ? before : wanted).Find(change.path);
    RETURN_IF_ERROR(is_removal ? writer.Remove(change.path, node)
                               : writer.Write(change.path, node));
  }
  paths.clear();
  AddPaths(wanted, paths);
  RETURN_IF_ERROR(WriteManifest(manifest_path, paths));
  return writer.report();
}

StatusOr<WriteReport> Reconcile(const std::string& folder, const std::string& manifest_path,
                                const Tree& wanted) {
  std::set<std::string> paths;
  ASSIGN_OR_RETURN(const std::string manifest, ReadManifest(manifest_path));
  for (const std::string_view line : Split(manifest, '\n')) {
    // A manifest that somebody edited must not lead out of the folder.
    if (IsPlainPath(line)) {
      paths.emplace(line);
    }
  }
  AddPaths(wanted, paths);
  ASSIGN_OR_RETURN(const Tree before, ReadTree(folder, paths));
  return Advance(folder, manifest_path, before, wanted);
}

}  // namespace kgpu::simhost
