#include "testing/cuda/mps.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/mps/protocol.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kSuccess;
using cuda_api::Result;

// State of a C library between calls can only be global; guarded by the library's lock.
struct MpsClient {
  int fd;  // 0: not connected
  bool has_joined;
  uint64_t limit;  // bytes; 0: none
  uint64_t used;
  Result failure;
};

MpsClient& Client() {
  static MpsClient client;
  return client;
}

int Connect(const char* folder) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const int size =
      snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, simmps::kControlSocket);
  if (size < 0 || static_cast<size_t>(size) >= sizeof(address.sun_path)) {
    return -1;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A daemon that hangs takes connections, too.
  const timeval limit = {.tv_sec = 10, .tv_usec = 0};
  if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
                  connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)) {
    close(fd);
    return -1;
  }
  return fd;
}

// Up to the line's end; false: it does not come.
bool ReadLine(int fd, char (&line)[64]) {
  size_t size = 0;
  while (size + 1 < sizeof(line) && read(fd, &line[size], 1) == 1) {
    if (line[size] == '\n') {
      line[size] = '\0';
      return true;
    }
    ++size;
  }
  return false;
}

// "0=4096M,1=2G": of the first device; 0: none.
uint64_t LimitOfEnvironment() {
  const char* text = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || strncmp(text, "0=", 2) != 0) {
    return 0;
  }
  char* end = nullptr;
  const uint64_t number = strtoull(text + 2, &end, 10);
  return *end == 'G' ? number << 30 : number << 20;
}

}  // namespace

Result JoinMps() {
  MpsClient& client = Client();
  const char* folder = getenv("CUDA_MPS_PIPE_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
  if (client.has_joined || folder == nullptr) {
    return client.failure;
  }
  const int fd = Connect(folder);
  if (fd < 0) {
    return kSuccess;
  }
  char line[64];
  const int size = snprintf(line, sizeof(line), "client %d\n", getpid());
  const bool is_answered =
      send(fd, line, static_cast<size_t>(size), MSG_NOSIGNAL) == size && ReadLine(fd, line);
  if (!is_answered || strncmp(line, "ok ", 3) != 0) {
    close(fd);
    return is_answered ? cuda_api::kMpsServerNotReady : cuda_api::kMpsConnectionFailed;
  }
  const char* limit = strrchr(line, ' ');
  client = {.fd = fd,
            .has_joined = true,
            .limit = strtoull(limit + 1, nullptr, 10) << 20,
            .used = 0,
            .failure = kSuccess};
  const uint64_t own = LimitOfEnvironment();
  if (own != 0 && (client.limit == 0 || own < client.limit)) {
    client.limit = own;
  }
  return kSuccess;
}

Result ChargeMps(uint64_t bytes) {
  MpsClient& client = Client();
  if (client.limit != 0 && bytes > client.limit - client.used) {
    return cuda_api::kOutOfMemory;
  }
  client.used += bytes;
  return kSuccess;
}

void RefundMps(uint64_t bytes) {
  MpsClient& client = Client();
  client.used -= bytes < client.used ? bytes : client.used;
}

Result MpsFailure() {
  MpsClient& client = Client();
  if (!client.has_joined || client.failure != kSuccess) {
    return client.failure;
  }
  pollfd state = {.fd = client.fd, .events = POLLIN, .revents = 0};
  if (poll(&state, 1, 0) == 1) {
    char line[64];
    client.failure =
        ReadLine(client.fd, line) ? cuda_api::kMpsClientTerminated : cuda_api::kMpsRpcFailure;
  }
  return client.failure;
}

void ReportMpsFault() {
  const MpsClient& client = Client();
  if (client.has_joined) {
    constexpr char kFault[] = "fault\n";
    (void)send(client.fd, kFault, sizeof(kFault) - 1, MSG_NOSIGNAL);
    // It tells us last: all others know then.
    pollfd state = {.fd = client.fd, .events = POLLIN, .revents = 0};
    constexpr int kPatience = 5000;  // milliseconds
    (void)poll(&state, 1, kPatience);
  }
}

}  // namespace kgpu::simcuda
