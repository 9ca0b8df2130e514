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

// How many replacements of a file may be in progress under names that RemoveLeftovers knows.
constexpr int kKnownNames = 4;

// A leading dot and an unknown ending: readers of drop-in folders (CDI, systemd, containerd) skip
// it.
std::string TemporaryName(const std::string& path, std::string_view ending) {
  const std::string name = std::filesystem::path(path).filename().string();
  return (std::filesystem::path(FolderOf(path)) / fmt::format(".{}.{}", name, ending)).string();
}

std::string KnownName(const std::string& path, int number) {
  return TemporaryName(path, fmt::format("tmp{}", number));
}

// Whether `name` still names the open file. Only the holder of a file's lock removes its name.
bool IsNameOf(const std::string& name, const UniqueFd& fd) {
  struct stat named{};
  struct stat opened{};
  return fstat(fd.get(), &opened) == 0 && lstat(name.c_str(), &named) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// A new file with a lock on it; a file system without locks does without. Not valid: see errno,
// EEXIST if others use the name.
UniqueFd CreateLocked(const std::string& name) {
  UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_valid()) {
    return fd;
  }
  // Before the lock, RemoveLeftovers of others may have taken the file for a leftover.
  const bool is_taken = flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_taken || !IsNameOf(name, fd)) {
    fd.Reset();
    errno = EEXIST;
  }
  return fd;
}

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
  for (int number = 0; number < kKnownNames; ++number) {
    const std::string name = KnownName(path, number);
    const UniqueFd fd(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.is_valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && IsNameOf(name, fd)) {
      (void)unlink(name.c_str());
    }
  }
}

StatusOr<AtomicFile> AtomicFile::Create(std::string path, mode_t mode) {
  RemoveLeftovers(path);
  std::string temporary;
  UniqueFd fd;
  errno = EEXIST;
  for (int number = 0; number < kKnownNames && !fd.is_valid() && errno == EEXIST; ++number) {
    temporary = KnownName(path, number);
    fd = CreateLocked(temporary);
  }
  if (!fd.is_valid() && errno == EEXIST) {
    temporary = TemporaryName(path, "XXXXXX");
    fd.Reset(mkostemp(temporary.data(), O_CLOEXEC));
  }
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("create a temporary file beside {}", path));
  }
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
