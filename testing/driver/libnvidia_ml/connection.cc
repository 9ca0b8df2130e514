#include "testing/driver/libnvidia_ml/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace kgpu::sim {
namespace {

struct Hello {
  FrameHeader header;
  HelloPayload payload;
};
static_assert(sizeof(Hello) == sizeof(FrameHeader) + sizeof(HelloPayload));

bool WaitReadable(int fd, int timeout_ms) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// Takes up to `size` bytes and the first passed descriptor.
ssize_t ReceiveSome(int fd, void* bytes, size_t size, int* passed) {
  iovec part{.iov_base = bytes, .iov_len = size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int received = -1;
    memcpy(&received, CMSG_DATA(header), sizeof(received));
    if (passed != nullptr && *passed < 0) {
      *passed = received;
    } else {
      close(received);
    }
  }
  return got;
}

bool ReceiveAll(int fd, void* bytes, size_t size, int* passed) {
  for (size_t done = 0; done < size;) {
    if (!WaitReadable(fd, kAnswerMs)) {
      return false;
    }
    ssize_t got = ReceiveSome(fd, static_cast<char*>(bytes) + done, size - done, passed);
    if (got <= 0) {
      return false;
    }
    done += static_cast<size_t>(got);
  }
  return true;
}

// The address must be short: the folder is named through its descriptor.
int ConnectBelow(const char* root, const char* relative) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof(path), "%s/%s", root, relative);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) {
    return -1;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  int folder = -1;
  if (static_cast<size_t>(length) < sizeof(address.sun_path)) {
    memcpy(address.sun_path, path, static_cast<size_t>(length) + 1);
  } else {
    char* slash = strrchr(path, '/');
    *slash = '\0';
    folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
                   slash + 1);
  }
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    fd = -1;
  }
  if (folder >= 0) {
    close(folder);
  }
  return fd;
}

bool MapState(int memory, SharedState* shared) {
  constexpr size_t kHead = offsetof(SimState, gpus);
  off_t end =
      lseek(memory, 0, SEEK_END);  // not fstat: it has changed its name in newer C libraries
  if (end < static_cast<off_t>(kHead)) {
    return false;
  }
  size_t size = static_cast<size_t>(end);
  size = size < sizeof(SimState) ? size : sizeof(SimState);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, memory, 0);
  if (bytes == MAP_FAILED) {
    return false;
  }
  *shared = {.state = static_cast<const SimState*>(bytes), .size = size};
  return true;
}

bool TakeHello(int fd, SharedState* shared) {
  Hello hello{};
  int memory = -1;
  bool is_good = ReceiveAll(fd, &hello, sizeof(hello), &memory) && hello.header.type == kHello &&
                 hello.header.size == sizeof(hello.payload) && hello.payload.magic == kStateMagic &&
                 hello.payload.layout == kStateLayout && memory >= 0;
  if (is_good && shared != nullptr) {
    is_good = MapState(memory, shared);
  }
  if (memory >= 0) {
    close(memory);
  }
  return is_good;
}

}  // namespace

int Connect(const char* root, SharedState* shared) {
  int fd = ConnectBelow(root, kSocketPath);
  if (fd < 0) {
    fd = ConnectBelow(root, kSocketPathVar);
  }
  if (fd >= 0 && !TakeHello(fd, shared)) {
    close(fd);
    fd = -1;
  }
  return fd;
}

void Unmap(const SharedState& shared) {
  if (shared.state != nullptr) {
    munmap(const_cast<SimState*>(shared.state), shared.size);
  }
}

bool SendFrame(int fd, uint32_t type, const void* payload, uint32_t size) {
  FrameHeader header{.type = type, .size = size};
  iovec parts[2] = {{.iov_base = &header, .iov_len = sizeof(header)},
                    {.iov_base = const_cast<void*>(payload), .iov_len = size}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return sendmsg(fd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(header) + size);
}

bool Drain(int fd) {
  char scratch[4096];
  for (;;) {
    ssize_t got = recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EINTR)) {
      continue;
    }
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
}

namespace {

// The answer to a command that was sent on `fd`.
int TakeReply(int fd, char* answer, size_t size) {
  FrameHeader header{};
  char payload[kMaxPayload];
  if (!ReceiveAll(fd, &header, sizeof(header), nullptr) || header.type != kReply ||
      header.size < sizeof(uint32_t) || header.size > sizeof(payload) ||
      !ReceiveAll(fd, payload, header.size, nullptr)) {
    return -1;
  }
  uint32_t code = 0;
  memcpy(&code, payload, sizeof(code));
  size_t length = header.size - sizeof(code);
  length = length < size ? length : size - 1;
  memcpy(answer, payload + sizeof(code), length);
  answer[length] = '\0';
  return static_cast<int>(code);
}

}  // namespace

bool AskMemory(int fd, const MemoryRequest& request, MemoryReply* reply, int* passed) {
  *passed = -1;
  if (!SendFrame(fd, kMemory, &request, sizeof(request))) {
    return false;
  }
  FrameHeader header{};
  // A reply that came after its caller had given up is skipped: only its number tells.
  do {
    if (*passed >= 0) {
      close(*passed);
      *passed = -1;
    }
    if (!ReceiveAll(fd, &header, sizeof(header), passed) || header.type != kMemoryReply ||
        header.size != sizeof(*reply) || !ReceiveAll(fd, reply, sizeof(*reply), passed)) {
      return false;
    }
  } while (reply->number != request.number);
  return true;
}

int RunCommand(const char* root, const char* line, char* answer, size_t size) {
  int fd = Connect(root, nullptr);
  if (fd < 0) {
    return -1;
  }
  bool is_sent = SendFrame(fd, kCommand, line, static_cast<uint32_t>(strlen(line)));
  int code = is_sent ? TakeReply(fd, answer, size) : -1;
  close(fd);
  return code;
}

}  // namespace kgpu::sim
