#include "testing/driver/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/status_macros.h"

namespace kgpu::sim {

namespace {

// An address and the folder's descriptor that keeps it valid.
struct Address {
  UniqueFd folder;
  sockaddr_un un = {};
};

// Socket paths hold 107 bytes; through the folder's descriptor every path is short.
StatusOr<Address> AddressOf(const std::string& folder, const std::string& name) {
  Address address;
  address.folder.Reset(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!address.folder.is_valid()) {
    return ErrnoStatus(errno, "open " + folder);
  }
  const std::string path = fmt::format("/proc/self/fd/{}/{}", address.folder.get(), name);
  if (path.size() >= sizeof(address.un.sun_path)) {
    return InvalidArgument("{}: the socket's name is too long", name);
  }
  address.un.sun_family = AF_UNIX;
  std::memcpy(address.un.sun_path, path.data(), path.size());
  return address;
}

StatusOr<UniqueFd> NewSocket(int flags) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, "socket");
  }
  return fd;
}

const sockaddr* Base(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.un);
}

}  // namespace

StatusOr<UniqueFd> ConnectUnix(const std::string& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const Address address, AddressOf(folder, name));
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(0));
  if (connect(fd.get(), Base(address), sizeof(address.un)) != 0) {
    if (errno == ECONNREFUSED) {
      return Unavailable("{}/{}: nobody listens there", folder, name);
    }
    return ErrnoStatus(errno, fmt::format("connect {}/{}", folder, name));
  }
  return fd;
}

StatusOr<UniqueFd> ListenUnix(const std::string& folder, const std::string& name) {
  if (ConnectUnix(folder, name).ok()) {
    return AlreadyExists("{}/{}: a server answers there already: stop it first", folder, name);
  }
  ASSIGN_OR_RETURN(const Address address, AddressOf(folder, name));
  struct stat old = {};
  if (fstatat(address.folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISSOCK(old.st_mode)) {
      return AlreadyExists("{}/{}: is there and is no socket: move it away", folder, name);
    }
    if (unlinkat(address.folder.get(), name.c_str(), 0) != 0) {
      return ErrnoStatus(errno, fmt::format("remove {}/{}", folder, name));
    }
  }
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket(SOCK_NONBLOCK));
  if (bind(fd.get(), Base(address), sizeof(address.un)) != 0) {
    return ErrnoStatus(errno, fmt::format("bind {}/{}", folder, name));
  }
  if (fchmodat(address.folder.get(), name.c_str(), 0666, 0) != 0 || listen(fd.get(), 64) != 0) {
    return ErrnoStatus(errno, fmt::format("listen {}/{}", folder, name));
  }
  return fd;
}

}  // namespace kgpu::sim
