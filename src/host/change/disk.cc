#include "src/host/change/disk.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::change {

namespace {

Status WriteFile(const std::string& place, std::string_view bytes, const Attributes& attributes,
                 sys::Durability durability) {
  struct stat there = {};
  if (stat(place.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return FailedPrecondition("{}: not a regular file: it is not replaced", place);
  }
  ASSIGN_OR_RETURN(sys::AtomicFile file, sys::AtomicFile::Create(place, attributes.mode));
  RETURN_IF_ERROR(file.Write(bytes));
  if (attributes.uid != geteuid() || attributes.gid != getegid()) {
    // Sets the mode again: chown(2) clears set-user-ID bits.
    if (chown(file.temporary_path().c_str(), attributes.uid, attributes.gid) != 0 ||
        chmod(file.temporary_path().c_str(), attributes.mode) != 0) {
      return ErrnoStatus(errno, fmt::format("set the owner of {}", place));
    }
  }
  return file.Commit(durability);
}

}  // namespace

StatusOr<std::string> HostDisk::Place(const std::string& path, bool follows) const {
  if (follows) {
    if (const auto status = host_.LinkStat(path); status.ok()) {
      ASSIGN_OR_RETURN(const std::string whole, host_.Resolve(path));
      return host_.At(whole);
    }
  }
  const std::filesystem::path asked(path);
  ASSIGN_OR_RETURN(const std::string folder, host_.Resolve(asked.parent_path().string()));
  return (std::filesystem::path(host_.At(folder)) / asked.filename()).string();
}

Status HostDisk::Write(const std::string& path, std::string_view bytes, mode_t mode) {
  ASSIGN_OR_RETURN(const std::string place, Place(path, true));
  struct stat there = {};
  if (stat(place.c_str(), &there) == 0) {
    return WriteFile(place, bytes, {there.st_mode & 07777, there.st_uid, there.st_gid},
                     durability_);
  }
  return WriteFile(place, bytes, {mode, geteuid(), getegid()}, durability_);
}

Status HostDisk::Replace(const std::string& path, std::string_view bytes,
                         const Attributes& attributes) {
  ASSIGN_OR_RETURN(const std::string place, Place(path, true));
  return WriteFile(place, bytes, attributes, durability_);
}

Status HostDisk::Remove(const std::string& path) {
  const auto place = Place(path, false);
  if (place.status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  RETURN_IF_ERROR(place.status());
  if (unlink(place->c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove {}", *place));
  }
  return OkStatus();
}

Status HostDisk::Link(const std::string& path, const std::string& target) {
  ASSIGN_OR_RETURN(const std::string place, Place(path, false));
  if (symlink(target.c_str(), place.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("link {}", place));
  }
  return OkStatus();
}

Status HostDisk::MakeFolder(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string place, Place(path, false));
  if (mkdir(place.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, fmt::format("create folder {}", place));
  }
  return OkStatus();
}

Status HostDisk::RemoveFolder(const std::string& path) {
  const auto place = Place(path, false);
  if (!place.ok()) {
    return OkStatus();
  }
  if (rmdir(place->c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {
    return ErrnoStatus(errno, fmt::format("remove folder {}", *place));
  }
  return OkStatus();
}

Status HostDisk::Move(const std::string& path, const std::string& to) {
  ASSIGN_OR_RETURN(const std::string place, Place(path, false));
  ASSIGN_OR_RETURN(const std::string target, Place(to, false));
  if (rename(place.c_str(), target.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("move {} to {}", place, target));
  }
  const std::string folder = std::filesystem::path(target).parent_path().string();
  return durability_ == sys::Durability::kDisk ? sys::SyncFolder(folder) : OkStatus();
}

Status HostDisk::Tidy(const std::string& path) {
  if (const auto place = Place(path, true); place.ok()) {
    sys::RemoveLeftovers(*place);
  }
  return OkStatus();
}

}  // namespace kgpu::change
