#include "src/platform/sys/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/accept.h"

namespace kgpu::sys {
namespace {

// An address and the descriptor that keeps it valid: the folder's, or the socket file's own.
struct Address {
  UniqueFd folder;
  std::string name;
  sockaddr_un un = {};

  const sockaddr* base() const { return reinterpret_cast<const sockaddr*>(&un); }
};

void SetPath(std::string_view path, Address& address) {
  address.un.sun_family = AF_UNIX;
  std::memcpy(address.un.sun_path, path.data(), path.size());
}

StatusOr<Address> AddressOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  Address address;
  address.name = slash == std::string::npos ? path : path.substr(slash + 1);
  address.folder.Reset(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!address.folder.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", folder));
  }
  const std::string short_path =
      fmt::format("/proc/self/fd/{}/{}", address.folder.get(), address.name);
  if (address.name.empty() || short_path.size() >= sizeof(address.un.sun_path)) {
    return InvalidArgument("{}: the socket's name must have 1 to 80 bytes", path);
  }
  SetPath(short_path, address);
  return address;
}

// Of the file that is there now, whatever takes its place. Source: open(2), O_PATH with O_NOFOLLOW.
StatusOr<Address> AddressOfFile(const Address& named, const std::string& path) {
  Address address;
  address.folder.Reset(
      openat(named.folder.get(), named.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat file = {};
  if (!address.folder.is_valid() || fstat(address.folder.get(), &file) != 0) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return PermissionDenied("{}: not a socket, but something in its place", path);
  }
  SetPath(fmt::format("/proc/self/fd/{}", address.folder.get()), address);
  return address;
}

StatusOr<UniqueFd> NewSocket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "create a socket");
  }
  return fd;
}

StatusOr<UniqueFd> Connect(const Address& address, const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket());
  if (connect(fd.get(), address.base(), sizeof(address.un)) != 0) {
    if (errno == ECONNREFUSED || errno == EAGAIN) {
      return Unavailable("{}: {}", path,
                         errno == EAGAIN ? "its server is too busy" : "connection refused");
    }
    return ErrnoStatus(errno, fmt::format("connect to {}", path));
  }
  return fd;
}

StatusOr<bool> IsListening(const Address& address, const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, NewSocket());
  // EAGAIN: its queue of connections is full.
  if (connect(fd.get(), address.base(), sizeof(address.un)) == 0 || errno == EAGAIN) {
    return true;
  }
  if (errno == ECONNREFUSED || errno == ENOENT) {
    return false;
  }
  return ErrnoStatus(errno, fmt::format("connect to {}", path));
}

// Removes a socket on which nobody answers.
Status RemoveStale(const Address& address, const std::string& path) {
  struct stat old = {};
  if (fstatat(address.folder.get(), address.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) {
    return OkStatus();
  }
  if (!S_ISSOCK(old.st_mode)) {
    return AlreadyExists("{}: not a socket: move it away", path);
  }
  // Where it cannot be found out, as for a socket of another type, the file is not in use by us.
  if (IsListening(address, path).value_or(false)) {
    return AlreadyExists("{}: another server already listens on it: stop it first", path);
  }
  if (unlinkat(address.folder.get(), address.name.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove {}", path));
  }
  return OkStatus();
}

}  // namespace

StatusOr<ucred> PeerOf(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "SO_PEERCRED of a socket");
  }
  return peer;
}

StatusOr<bool> IsListening(const std::string& path) {
  const StatusOr<Address> address = AddressOf(path);
  if (address.status().code() == StatusCode::kNotFound) {
    return false;
  }
  RETURN_IF_ERROR(address.status());
  return IsListening(*address, path);
}

StatusOr<UniqueFd> ConnectUnix(const std::string& path, Links links) {
  ASSIGN_OR_RETURN(Address address, AddressOf(path));
  if (links == Links::kRefuse) {
    ASSIGN_OR_RETURN(address, AddressOfFile(address, path));
  }
  return Connect(address, path);
}

StatusOr<UnixListener> UnixListener::Listen(const std::string& path, const Options& options) {
  ASSIGN_OR_RETURN(const Address address, AddressOf(path));
  RETURN_IF_ERROR(RemoveStale(address, path));
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket());
  if (bind(fd.get(), address.base(), sizeof(address.un)) != 0) {
    return ErrnoStatus(errno, fmt::format("bind {}", path));
  }
  struct stat file = {};
  if (fchmodat(address.folder.get(), address.name.c_str(), options.mode, 0) != 0 ||
      fstatat(address.folder.get(), address.name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0 ||
      listen(fd.get(), options.backlog) != 0) {
    return ErrnoStatus(errno, fmt::format("listen on {}", path));
  }
  return UnixListener(path, std::move(fd), file);
}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::move(other.path_);
    fd_ = std::move(other.fd_);
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

UnixListener::~UnixListener() {
  Remove();
}

bool UnixListener::IsInPlace() const {
  struct stat now = {};
  return lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

void UnixListener::Remove() {
  // A moved-from listener has no descriptor. The check and the removal are two steps: another
  // socket could take the path in between, which only a second server at the same path would do.
  if (fd_.is_valid() && IsInPlace()) {
    (void)unlink(path_.c_str());
  }
}

StatusOr<std::optional<UniqueFd>> UnixListener::Accept() {
  return AcceptOn(fd_.get(), path_);
}

}  // namespace kgpu::sys
