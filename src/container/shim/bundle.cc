#include "src/container/shim/bundle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "src/container/oci/spec.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::shim {
namespace {

// A file that is to take another's place; what is left under its name goes with it.
class TemporaryFile {
 public:
  TemporaryFile(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (is_there_) {
      (void)::unlinkat(folder_, name_.c_str(), 0);
    }
  }
  // The two are exchanged where the file system can: ext4 writes a file that replaces another by
  // rename out to the disk first, in milliseconds, for power cuts that no bundle outlives.
  Status TakePlaceOf(const std::string& name) {
    if (::renameat2(folder_, name_.c_str(), folder_, name.c_str(), RENAME_EXCHANGE) == 0) {
      return OkStatus();
    }
    if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) {
      return ErrnoStatus(errno, "rename");
    }
    is_there_ = false;
    return OkStatus();
  }

 private:
  int folder_;
  std::string name_;
  bool is_there_ = true;
};

// Owner and mode of the file that is replaced. Who may not give files away owns both already.
Status Resemble(int fd, const struct stat& info) {
  if ((info.st_uid != geteuid() || info.st_gid != getegid()) &&
      ::fchown(fd, info.st_uid, info.st_gid) != 0 && errno != EPERM) {
    return ErrnoStatus(errno, "set the owner");
  }
  return ::fchmod(fd, info.st_mode & 07777) == 0 ? OkStatus() : ErrnoStatus(errno, "set the mode");
}

}  // namespace

StatusOr<std::optional<BundleSpec>> BundleSpec::Open(std::string_view path) {
  BundleSpec spec;
  spec.path_ = path.find('/') == std::string_view::npos ? fmt::format("./{}", path) : path;
  const size_t slash = spec.path_.rfind('/');
  spec.name_ = spec.path_.substr(slash + 1);
  const std::string above = slash == 0 ? "/" : spec.path_.substr(0, slash);
  spec.folder_.Reset(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!spec.folder_.is_valid()) {
    return errno == ENOENT ? StatusOr<std::optional<BundleSpec>>(std::nullopt)
                           : ErrnoStatus(errno, fmt::format("open {}", above));
  }
  const UniqueFd fd(::openat(spec.folder_.get(), spec.name_.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_valid() && errno == ENOENT) {
    return std::nullopt;
  }
  if (!fd.is_valid()) {
    return errno == ELOOP ? InvalidArgument("{}: must be a file, not a link", spec.path_)
                          : ErrnoStatus(errno, fmt::format("open {}", spec.path_));
  }
  if (::fstat(fd.get(), &spec.info_) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", spec.path_));
  }
  if (!S_ISREG(spec.info_.st_mode)) {
    return InvalidArgument("{}: not a file", spec.path_);
  }
  if (spec.info_.st_size > static_cast<off_t>(oci::kSpecLimit)) {
    return OutOfRange("{}: {} bytes exceed the limit of {}", spec.path_, spec.info_.st_size,
                      oci::kSpecLimit);
  }
  StatusOr<std::string> text = sys::ReadAll(fd.get(), oci::kSpecLimit);
  if (!text.ok()) {
    return Annotate(text.status(), "{}", spec.path_);
  }
  spec.text_ = *std::move(text);
  return spec;
}

Status BundleSpec::Replace(std::string_view text) const {
  const std::string name = fmt::format(".{}.kgpu-{}", name_, getpid());
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(folder_.get(), name.c_str(), kFlags, 0600));
  if (!fd.is_valid() && errno == EEXIST) {
    // A leftover of a process that had our pid and was killed.
    (void)::unlinkat(folder_.get(), name.c_str(), 0);
    fd.Reset(::openat(folder_.get(), name.c_str(), kFlags, 0600));
  }
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("create a file beside {}", path_));
  }
  TemporaryFile temporary(folder_.get(), name);
  RETURN_IF_ERROR(Annotate(Resemble(fd.get(), info_), "{}", path_));
  RETURN_IF_ERROR(Annotate(sys::WriteAll(fd.get(), text), "{}", path_));
  return Annotate(temporary.TakePlaceOf(name_), "{}", path_);
}

}  // namespace kgpu::shim
