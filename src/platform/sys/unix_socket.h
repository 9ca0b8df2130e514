// Unix stream sockets. Paths may have any length: we reach them through their folder's descriptor,
// since an address holds only 107 bytes.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// Whether a symbolic link may lead to the socket. One in a folder that others may write to can lead
// to any socket that we may use and they may not: kRefuse is for those.
enum class Links : uint8_t { kFollow, kRefuse };

// A non-blocking socket connected to `path`. Errors: NotFound (no such folder or socket),
// Unavailable (nobody listens there, or its queue is full), PermissionDenied (also for a link that
// is refused).
StatusOr<UniqueFd> ConnectUnix(const std::string& path, Links links = Links::kFollow);

// The process at the other end, as it was when it connected or listened. Source: SO_PEERCRED of
// unix(7).
StatusOr<ucred> PeerOf(int fd);

// Whether a server listens on the socket, even one that is too busy to accept; false if there is no
// socket, or nobody listens. Errors: PermissionDenied, and any other that prevents the answer.
StatusOr<bool> IsListening(const std::string& path);

// A listening socket that removes its own file at the end, and nobody else's. Move-only.
class UnixListener {
 public:
  struct Options {
    mode_t mode = 0600;  // of the socket file
    int backlog = 64;
  };

  // Replaces a socket file on which nobody answers. Errors: AlreadyExists (somebody answers there,
  // or it is no socket), NotFound (no such folder), PermissionDenied, ResourceExhausted.
  static StatusOr<UnixListener> Listen(const std::string& path, const Options& options);

  UnixListener(UnixListener&& other) noexcept = default;
  UnixListener& operator=(UnixListener&& other) noexcept;
  ~UnixListener();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Whether the path still leads to this socket: the file may have been removed or replaced,
  // together with its folder.
  bool IsInPlace() const;
  // The next connection, non-blocking; nothing if none is waiting. Errors: ResourceExhausted (no
  // descriptors left: try again later), Internal.
  StatusOr<std::optional<UniqueFd>> Accept();

 private:
  UnixListener(std::string path, UniqueFd fd, const struct stat& file)
      : path_(std::move(path)), fd_(std::move(fd)), device_(file.st_dev), inode_(file.st_ino) {}
  void Remove();

  std::string path_;
  UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace kgpu::sys
