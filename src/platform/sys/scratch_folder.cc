#include "src/platform/sys/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kgpu::sys {
namespace {

constexpr std::string_view kRandomPart = "-XXXXXX";

// The lock on a folder; it ends with the process. An invalid one: another process has it, or the
// folder is not this user's.
UniqueFd LockFolder(const std::string& path) {
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts = {};
  const bool is_ours = folder.is_valid() && fstat(folder.get(), &facts) == 0 &&
                       facts.st_uid == geteuid() && flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  return is_ours ? std::move(folder) : UniqueFd();
}

// What stays is reported by nobody: it is of no use and no harm.
void RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

}  // namespace

StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(const Root& root,
                                                             std::string_view parent,
                                                             std::string_view name) {
  std::unique_ptr<ScratchFolder> made(new ScratchFolder());
  std::string path = root.At(fmt::format("{}/{}{}", parent, name, kRandomPart));
  if (mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, fmt::format("create a folder in {}", root.At(parent)));
  }
  made->inside_ = fmt::format("{}{}", parent, path.substr(path.rfind('/')));
  made->path_ = std::move(path);
  made->lock_ = LockFolder(made->path_);
  return made;
}

void ScratchFolder::RemoveAbandoned(const Root& root, const std::string& parent,
                                    std::string_view name) {
  const auto entries = root.ListDir(parent);
  for (const std::string& entry : entries.ok() ? *entries : std::vector<std::string>()) {
    if (!entry.starts_with(name) || entry.size() != name.size() + kRandomPart.size()) {
      continue;
    }
    const std::string path = root.At(fmt::format("{}/{}", parent, entry));
    if (const UniqueFd lock = LockFolder(path); lock.is_valid()) {
      RemoveAll(path);
    }
  }
}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    RemoveAll(path_);
  }
}

}  // namespace kgpu::sys
