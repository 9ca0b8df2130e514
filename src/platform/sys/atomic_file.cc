#include "src/platform/sys/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::sys {
namespace {

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The suffix of temporary files next to `path`, whose names begin with a dot.
constexpr std::string_view kRandom = ".XXXXXX";

}  // namespace

// File systems that cannot sync a folder say EINVAL.
Status SyncFolder(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_valid() || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return ErrnoStatus(errno, fmt::format("sync folder {}", folder));
  }
  return OkStatus();
}

void RemoveLeftovers(const std::string& path) {
  const std::string start = "." + std::filesystem::path(path).filename().string() + ".";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(FolderOf(path), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::filesystem::path& found = entry->path();
    const std::string name = found.filename();
    if (!name.starts_with(start) || name.size() != start.size() - 1 + kRandom.size()) {
      continue;
    }
    const UniqueFd fd(::open(found.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.is_valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      (void)unlink(found.c_str());
    }
  }
}

StatusOr<AtomicFile> AtomicFile::Create(std::string path, mode_t mode) {
  // A leading dot and an unknown ending: readers of drop-in folders (CDI, systemd, containerd)
  // skip it.
  const std::filesystem::path whole(path);
  RemoveLeftovers(path);
  std::string temporary = (std::filesystem::path(FolderOf(path)) /
                           fmt::format(".{}{}", whole.filename().string(), kRandom))
                              .string();
  UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("create a temporary file beside {}", path));
  }
  // For RemoveLeftovers of others; a file system without locks does without.
  (void)flock(fd.get(), LOCK_EX | LOCK_NB);
  AtomicFile file(std::move(path), std::move(temporary), std::move(fd));
  if (fchmod(file.fd_.get(), mode) != 0) {
    return ErrnoStatus(errno, fmt::format("set the mode of {}", file.temporary_));
  }
  return file;
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) {
    (void)unlink(temporary_.c_str());
  }
}

Status AtomicFile::Write(std::string_view bytes) {
  return Annotate(WriteAll(fd_.get(), bytes), "write {}", path_);
}

Status AtomicFile::Commit(Durability durability) {
  const bool must_last = durability == Durability::kDisk;
  if (must_last && fsync(fd_.get()) != 0) {
    return ErrnoStatus(errno, fmt::format("write {}", path_));
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("replace {}", path_));
  }
  temporary_.clear();
  return must_last ? SyncFolder(FolderOf(path_)) : OkStatus();
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, mode_t mode,
                           Durability durability) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, mode));
  RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit(durability);
}

}  // namespace kgpu::sys
