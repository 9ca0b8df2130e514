#include "src/platform/sys/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::sys {

StatusOr<std::optional<std::string>> StateFile::ReadText() const {
  // O_NONBLOCK: a pipe in its place must not block us.
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_valid() && errno == ENOENT) {
    return std::optional<std::string>();
  }
  struct stat info{};
  if (!fd.is_valid() || fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, fmt::format("read {}", path_));
  }
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition("{}: not a regular file: move it away", path_);
  }
  StatusOr<std::string> text = ReadAll(fd.get(), options_.most_bytes);
  RETURN_IF_ERROR(Annotate(text.status(), "read {}", path_));
  return std::optional<std::string>(*std::move(text));
}

Status StateFile::Write(std::string_view text) const {
  if (text.size() > options_.most_bytes) {
    return OutOfRange("{}: would have {} bytes, limit {}", path_, text.size(), options_.most_bytes);
  }
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (std::error_code error; !folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create folder {}", folder.string()));
    }
  }
  return WriteFileAtomically(path_, text, options_.mode, options_.durability);
}

Status StateFile::Remove() const {
  RemoveLeftovers(path_);
  if (unlink(path_.c_str()) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, fmt::format("remove {}", path_));
  }
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  return options_.durability == Durability::kDisk ? SyncFolder(folder.empty() ? "." : folder)
                                                  : OkStatus();
}

bool StateFile::IsDamage(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kOutOfRange;
}

Status StateFile::SetAside(const Status& why) const {
  const std::string bad = path_ + ".bad";
  (void)std::rename((bad + ".1").c_str(), (bad + ".2").c_str());
  (void)std::rename(bad.c_str(), (bad + ".1").c_str());
  if (std::rename(path_.c_str(), bad.c_str()) != 0) {
    return MakeStatus(why.code(),
                      fmt::format("{}; it stays in its place: {}", Message(why),
                                  Message(ErrnoStatus(errno, fmt::format("rename to {}", bad)))));
  }
  return MakeStatus(why.code(), fmt::format("{}; it is kept as {}", Message(why), bad));
}

}  // namespace kgpu::sys
