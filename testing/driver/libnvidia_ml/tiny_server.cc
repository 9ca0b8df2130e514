#include "testing/driver/libnvidia_ml/tiny_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <stdexcept>

#include "testing/driver/protocol.h"

namespace kgpu::sim {
namespace {

struct Hello {
  FrameHeader header;
  HelloPayload payload;
};

template <typename T>
struct Message {
  FrameHeader header;
  T payload;
};

UniqueFd Listen(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(fd.get(), 16) != 0) {
    throw std::runtime_error("listen " + path);
  }
  return fd;
}

void SendHello(int fd, int memory) {
  Hello hello{.header = {.type = kHello, .size = sizeof(HelloPayload)},
              .payload = {.magic = kStateMagic, .layout = kStateLayout, .size = sizeof(SimState)}};
  iovec part{.iov_base = &hello, .iov_len = sizeof(hello)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &memory, sizeof(memory));
  (void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

TinyServer::TinyServer(const TempDir& root)
    : memory_(memfd_create("tiny", MFD_CLOEXEC)), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (ftruncate(memory_.get(), sizeof(SimState)) != 0) {
    throw std::runtime_error("memfd");
  }
  void* bytes =
      mmap(nullptr, sizeof(SimState), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  state_ = static_cast<SimState*>(bytes);
  state_->magic = kStateMagic;
  state_->layout = kStateLayout;
  state_->size = sizeof(SimState);
  state_->driver.is_loaded = 1;
  state_->driver.cuda_version = 12020;
  std::strncpy(state_->driver.version, "535.261.03", sizeof(state_->driver.version) - 1);
  std::strncpy(state_->driver.library_version, "535.261.03",
               sizeof(state_->driver.library_version) - 1);
  root.MakeDir("run/nvidia-persistenced");
  listener_ = Listen(root.At(kSocketPath));
  thread_ = std::jthread([this] { Serve(); });
}

TinyServer::~TinyServer() {
  uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof(one));
  thread_.join();
  munmap(state_, sizeof(SimState));
}

void TinyServer::Serve() {
  for (;;) {
    pollfd wait[2] = {{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                      {.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    if (poll(wait, 2, -1) > 0 && wait[1].revents != 0) {
      return;
    }
    if (wait[0].revents != 0) {
      Greet();
    }
  }
}

void TinyServer::Greet() {
  UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  SendHello(client.get(), memory_.get());
  const std::lock_guard lock(mutex_);
  clients_.push_back(std::move(client));
}

void TinyServer::Change(const std::function<void(SimState&)>& change) {
  const std::lock_guard lock(mutex_);
  const std::atomic_ref<uint64_t> sequence(state_->sequence);
  sequence.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  change(*state_);
  ++state_->version;
  sequence.fetch_add(1, std::memory_order_release);
  const Message<SimEvent> news{.header = {.type = kEvent, .size = sizeof(SimEvent)}, .payload = {}};
  for (const UniqueFd& client : clients_) {
    (void)send(client.get(), &news, sizeof(news), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void TinyServer::Push(SimState& state, uint32_t slot, uint64_t type, uint64_t data) {
  SimEvent& event = state.events[state.event_count % kMaxEvents];
  event = {.sequence = state.event_count + 1,
           .type = type,
           .data = data,
           .gpu = slot,
           .gpu_instance = kUnsupported,
           .compute_instance = kUnsupported,
           .padding = 0};
  ++state.event_count;
}

void FillGpu(SimGpu& gpu, uint32_t index) {
  gpu = {};
  gpu.is_present = 1;
  gpu.incarnation = 1;
  gpu.minor = index;
  (void)snprintf(gpu.uuid, sizeof(gpu.uuid), "GPU-00000000-0000-0000-0000-%012u", index);
  (void)snprintf(gpu.serial, sizeof(gpu.serial), "15652000%05u", index);
  std::strncpy(gpu.name, "NVIDIA A100-SXM4-80GB", sizeof(gpu.name) - 1);
  gpu.pci = {.domain = 0,
             .bus = 0x10 + index,
             .device = 0,
             .function = 0,
             .vendor_id = 0x10de,
             .device_id = 0x20b2,
             .subsystem_vendor = 0x10de,
             .subsystem_device = 0x147f,
             .class_code = 0x030200,
             .revision = 0xa1};
  gpu.brand = 14;
  gpu.architecture = 7;
  gpu.cc_major = 8;
  gpu.memory_total = 80ULL << 30;
  gpu.memory_reserved = 512ULL << 20;
  gpu.module_id = kUnsupported;
  gpu.temperature.gpu = 30;
  gpu.temperature.memory = kUnsupported;
  gpu.power.usage = 60'000;
  gpu.power.energy_mj = kUnsupported64;
  gpu.supported_events = 0x19b;
  gpu.numa_node = -1;
  gpu.nvlink_count = 1;
  gpu.nvlinks[0].exists = 1;
  gpu.nvlinks[0].is_active = 1;
  gpu.nvlinks[0].version = 3;
  gpu.nvlinks[0].remote_type = kRemoteSwitch;
}

}  // namespace kgpu::sim
