#include "src/sys/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "src/base/status_macros.h"
#include "src/sys/read_fd.h"

namespace kgpu::sys {
namespace {

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Makes the rename itself survive a power cut. File systems that can not sync a folder say EINVAL.
Status SyncFolder(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_valid() || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return ErrnoStatus(errno, fmt::format("sync folder {}", folder));
  }
  return OkStatus();
}

}  // namespace

StatusOr<AtomicFile> AtomicFile::Create(std::string path, mode_t mode) {
  // A leading dot and an unknown ending: readers of drop-in folders (CDI, systemd, containerd)
  // skip it.
  const std::filesystem::path whole(path);
  std::string temporary =
      (std::filesystem::path(FolderOf(path)) / ("." + whole.filename().string() + ".XXXXXX"))
          .string();
  UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
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
