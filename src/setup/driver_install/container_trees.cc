#include "src/setup/driver_install/container_trees.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"
#include "src/platform/sys/selinux.h"

namespace kgpu::driver_install {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = size_t{1} << 20;
constexpr int kMostDepth = 200;

// A path of mountinfo, in which blanks are octal numbers. Source: proc(5).
std::string Unescaped(std::string_view text) {
  std::string path;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto digit = [&](size_t index) {
      return index < text.size() && text[index] >= '0' && text[index] <= '7' ? text[index] - '0'
                                                                             : -1;
    };
    if (text[at] == '\\' && digit(at + 1) >= 0 && digit(at + 2) >= 0 && digit(at + 3) >= 0) {
      path.push_back(static_cast<char>(digit(at + 1) * 64 + digit(at + 2) * 8 + digit(at + 3)));
      at += 3;
    } else {
      path.push_back(text[at]);
    }
  }
  return path;
}

// Where something is mounted, as this process sees it: folders and files.
StatusOr<std::set<std::string>> ReadMounts(const std::string& mountinfo) {
  std::ifstream in(mountinfo);
  if (!in) {
    return Unavailable("{}: unreadable, so the mounts are unknown", mountinfo);
  }
  std::set<std::string> mounts;
  std::string line;
  while (std::getline(in, line)) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() > 4) {
      mounts.insert(Unescaped(words[4]));
    }
  }
  return mounts;
}

// With no link in it, as the kernel names mounts.
StatusOr<std::string> RealPath(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? StatusOr<std::string>(ErrnoStatus(error.value(), fmt::format("resolve {}", path)))
               : real.string();
}

// Copies one tree. Lives for one call; the paths are this process's.
class Copying {
 public:
  // `left_out` and `mounts`: what is not copied. `label`: SELinux label for all new files; empty:
  // none.
  Copying(std::set<std::string> mounts, std::vector<std::string> left_out, std::string_view label)
      : mounts_(std::move(mounts)),
        left_out_(std::move(left_out)),
        label_(label),
        block_(kBlock, '\0') {}

  Status Folder(const std::string& from, const std::string& to, int depth);
  // The size on disk of the files to copy.
  uint64_t Bytes(const std::string& from, int depth) const;

 private:
  Status Entry(const std::string& from, const std::string& to, int depth);
  Status File(const std::string& from, const std::string& to, const struct stat& status);
  static Status Link(const std::string& from, const std::string& to, const struct stat& status);
  Status Label(const std::string& path) const;
  bool IsLeftOut(const std::string& from) const;

  std::set<std::string> mounts_;
  std::vector<std::string> left_out_;
  std::string label_;
  std::string block_;
};

bool Copying::IsLeftOut(const std::string& from) const {
  return mounts_.contains(from) || std::ranges::find(left_out_, from) != left_out_.end();
}

uint64_t Copying::Bytes(const std::string& from, int depth) const {
  uint64_t bytes = 0;
  std::error_code error;
  fs::directory_iterator entries(from, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    struct stat status = {};
    if (IsLeftOut(path) || lstat(path.c_str(), &status) != 0) {
      continue;
    }
    constexpr uint64_t kUnit = 512;  // stat(2)
    bytes += S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_blocks) * kUnit : 0;
    bytes += S_ISDIR(status.st_mode) && depth < kMostDepth ? Bytes(path, depth + 1) : 0;
  }
  return bytes;
}

Status Copying::File(const std::string& from, const std::string& to, const struct stat& status) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", from));
  }
  const UniqueFd copy(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.is_valid()) {
    return ErrnoStatus(errno, fmt::format("create {}", to));
  }
  for (;;) {
    const ssize_t count = TEMP_FAILURE_RETRY(read(source.get(), block_.data(), block_.size()));
    if (count < 0) {
      return ErrnoStatus(errno, fmt::format("read {}", from));
    }
    if (count == 0) {
      break;
    }
    const std::string_view bytes(block_.data(), static_cast<size_t>(count));
    RETURN_IF_ERROR(Annotate(sys::WriteAll(copy.get(), bytes), "{}", to));
  }
  const std::array<struct timespec, 2> times = {status.st_atim, status.st_mtim};
  // No program of the image is to give its rights to users of the host, which would not update it.
  if (fchown(copy.get(), status.st_uid, status.st_gid) != 0 ||
      fchmod(copy.get(), status.st_mode & 0777) != 0 || futimens(copy.get(), times.data()) != 0) {
    return ErrnoStatus(errno, fmt::format("set owner and mode of {}", to));
  }
  return OkStatus();
}

Status Copying::Link(const std::string& from, const std::string& to, const struct stat& status) {
  std::error_code error;
  const fs::path target = fs::read_symlink(from, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("read the link {}", from));
  }
  if (symlink(target.c_str(), to.c_str()) != 0 ||
      lchown(to.c_str(), status.st_uid, status.st_gid) != 0) {
    return ErrnoStatus(errno, fmt::format("link {}", to));
  }
  return OkStatus();
}

Status Copying::Label(const std::string& path) const {
  if (!label_.empty() &&
      lsetxattr(path.c_str(), sys::kSelinuxAttribute, label_.c_str(), label_.size() + 1, 0) != 0) {
    return ErrnoStatus(errno, fmt::format("label {} as {}", path, label_));
  }
  return OkStatus();
}

Status Copying::Entry(const std::string& from, const std::string& to, int depth) {
  struct stat status = {};
  if (lstat(from.c_str(), &status) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", from));
  }
  if (S_ISDIR(status.st_mode)) {
    return Folder(from, to, depth);
  }
  if (IsLeftOut(from)) {
    return OkStatus();
  }
  if (S_ISLNK(status.st_mode)) {
    RETURN_IF_ERROR(Link(from, to, status));
    return Label(to);
  }
  if (S_ISREG(status.st_mode)) {
    RETURN_IF_ERROR(File(from, to, status));
    return Label(to);
  }
  return OkStatus();
}

Status Copying::Folder(const std::string& from, const std::string& to, int depth) {
  struct stat status = {};
  if (lstat(from.c_str(), &status) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", from));
  }
  if (depth > kMostDepth) {
    return OutOfRange("{}: more than {} folders deep: not copied", from, kMostDepth);
  }
  if (mkdir(to.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, fmt::format("create folder {}", to));
  }
  if (depth == 0 || !IsLeftOut(from)) {
    std::error_code error;
    fs::directory_iterator entries(from, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const std::string name = entries->path().filename();
      RETURN_IF_ERROR(
          Entry((fs::path(from) / name).string(), (fs::path(to) / name).string(), depth + 1));
    }
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("list {}", from));
    }
  }
  if (chown(to.c_str(), status.st_uid, status.st_gid) != 0 ||
      chmod(to.c_str(), status.st_mode & 07777) != 0) {
    return ErrnoStatus(errno, fmt::format("set owner and mode of {}", to));
  }
  return Label(to);
}

// Syncs the file system that `path` is on, or only the folder.
Status Sync(const std::string& path, bool is_whole_system) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_valid() || (is_whole_system ? syncfs(fd.get()) : fsync(fd.get())) != 0) {
    return ErrnoStatus(errno, fmt::format("sync {} to disk", path));
  }
  return OkStatus();
}

StatusOr<uint64_t> FreeOnDisk(const std::string& path) {
  struct statvfs info = {};
  if (statvfs(path.c_str(), &info) != 0) {
    return ErrnoStatus(errno, fmt::format("get the free space of {}", path));
  }
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

std::string FolderOf(const std::string& path) {
  return fs::path(path).parent_path();
}

}  // namespace

StatusOr<std::string> HostTrees::Place(const std::string& path) const {
  const fs::path asked = fs::path(path).lexically_normal();
  if (!asked.is_absolute() || !asked.has_filename()) {
    return InvalidArgument("\"{}\": must be a full path of a folder below /", path);
  }
  ASSIGN_OR_RETURN(const std::string folder, host_.Resolve(asked.parent_path().string()));
  ASSIGN_OR_RETURN(const std::string real, RealPath(host_.At(folder)));
  return (fs::path(real) / asked.filename()).string();
}

Status HostTrees::Copy(const sys::Root& from, const std::vector<std::string>& left_out,
                       const std::string& to) {
  ASSIGN_OR_RETURN(const std::string place, Place(to));
  ASSIGN_OR_RETURN(const std::string top, RealPath(from.path()));
  ASSIGN_OR_RETURN(const std::string host, RealPath(host_.path()));
  ASSIGN_OR_RETURN(std::set<std::string> mounts, ReadMounts(mountinfo_));
  std::vector<std::string> paths = {host, place};
  for (const std::string& folder : left_out) {
    paths.push_back((fs::path(top) / fs::path(folder).relative_path()).string());
  }
  const bool has_selinux = host_.Exists("/sys/fs/selinux/enforce");
  Copying copying(std::move(mounts), std::move(paths), has_selinux ? sys::kContainerLabel : "");
  const uint64_t bytes = copying.Bytes(top, 0);
  ASSIGN_OR_RETURN(const uint64_t free,
                   free_bytes_ ? free_bytes_(place) : FreeOnDisk(FolderOf(place)));
  if (bytes > free) {
    return FailedPrecondition("{}: {} MiB are free, the driver needs {} MiB there", FolderOf(place),
                              free >> 20, (bytes >> 20) + 1);
  }
  RETURN_IF_ERROR(copying.Folder(top, place, 0));
  return Sync(place, true);
}

Status HostTrees::CheckUnmounted(const std::string& tree) {
  const auto place = Place(tree);
  if (place.status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  RETURN_IF_ERROR(place.status());
  ASSIGN_OR_RETURN(const std::set<std::string> mounts, ReadMounts(mountinfo_));
  const auto below = std::ranges::find_if(mounts, [start = *place + "/"](const std::string& mount) {
    return mount.starts_with(start);
  });
  return below == mounts.end() ? OkStatus()
                               : FailedPrecondition(
                                     "{}: a file system is mounted there and would be deleted with "
                                     "the old driver: unmount it",
                                     *below);
}

Status HostTrees::Put(const std::string& tree, const std::string& place) {
  RETURN_IF_ERROR(CheckUnmounted(tree));
  RETURN_IF_ERROR(CheckUnmounted(place));
  ASSIGN_OR_RETURN(const std::string from, Place(tree));
  ASSIGN_OR_RETURN(const std::string to, Place(place));
  const bool is_there = host_.LinkStat(place).ok();
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                is_there ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
    return ErrnoStatus(errno, fmt::format("move {} to {}", from, to));
  }
  return Sync(FolderOf(to), false);
}

Status HostTrees::Remove(const std::string& tree) {
  RETURN_IF_ERROR(CheckUnmounted(tree));
  const auto place = Place(tree);
  if (place.status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  RETURN_IF_ERROR(place.status());
  std::error_code error;
  fs::remove_all(*place, error);
  return error ? ErrnoStatus(error.value(), fmt::format("remove {}", *place)) : OkStatus();
}

Status HostTrees::PointTo(const std::string& link, const std::string& place) {
  std::error_code error;
  const fs::path folder = fs::path(link).parent_path();
  fs::path above;
  for (const fs::path& part : folder) {
    above /= part;
    if (above != "/" && !host_.Exists(above.string())) {
      ASSIGN_OR_RETURN(const std::string missing, Place(above.string()));
      if (mkdir(missing.c_str(), 0755) != 0 && errno != EEXIST) {
        return ErrnoStatus(errno, fmt::format("create folder {}", missing));
      }
    }
  }
  ASSIGN_OR_RETURN(const std::string real, host_.Resolve(folder.string()));
  ASSIGN_OR_RETURN(const std::string to, Place(link));
  const std::string target = fs::path(place).lexically_relative(real).string();
  if (fs::is_symlink(to, error) && fs::read_symlink(to, error) == target) {
    return OkStatus();
  }
  // A folder that is empty is what the kubelet makes of a volume that was not there.
  const bool is_folder = !fs::is_symlink(to, error) && fs::is_directory(to, error);
  if ((is_folder && rmdir(to.c_str()) != 0) || fs::is_regular_file(to, error)) {
    return FailedPrecondition(
        "{}: contains files of another driver: stop its source (a driver container), or set "
        "another folder with --driver-dir",
        to);
  }
  const std::string fresh = fmt::format("{}.new", to);
  fs::remove(fresh, error);
  if (symlink(target.c_str(), fresh.c_str()) != 0 || rename(fresh.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("link {}", to));
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
