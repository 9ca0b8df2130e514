#include "testing/cuda/account.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"
#include "testing/cuda/mps.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kOutOfMemory;
using cuda_api::kUnknown;

sim::MemoryRequest RequestFor(const VisibleDevice& device, sim::MemoryOperation operation,
                              uint64_t bytes) {
  return {.number = 0,
          .operation = operation,
          .slot = device.slot,
          .incarnation = device.incarnation,
          .gpu_instance = device.gpu_instance,
          .compute_instance = device.compute_instance,
          .padding = 0,
          .bytes = bytes,
          .object = 0,
          .key = 0};
}

Result ResultOf(uint32_t answer) {
  switch (answer) {
    case sim::kMemoryDone:
      return kSuccess;
    case sim::kMemoryExhausted:
    case sim::kMemoryTooMany:
      return kOutOfMemory;
    case sim::kMemoryNoObject:
      return cuda_api::kInvalidHandle;
    default:
      return kUnknown;
  }
}

// `passed` may be null: then the reply's file is closed.
Result Ask(sim::MemoryRequest request, sim::MemoryReply* reply, int* passed) {
  const sim::SessionRef session;
  if (!session) {
    return cuda_api::kNotInitialized;
  }
  request.number = ++State().last_id;
  int fd = -1;
  if (!sim::AskMemory(session->socket, request, reply, &fd)) {
    return kUnknown;
  }
  if (passed != nullptr) {
    *passed = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  return ResultOf(reply->result);
}

}  // namespace

Result AskSpace(const VisibleDevice& device, Space* space) {
  sim::MemoryReply reply{};
  const Result result = Ask(RequestFor(device, sim::kAskSpace, 0), &reply, nullptr);
  *space = {.total = reply.total, .free = reply.free};
  return result;
}

Result Charge(const VisibleDevice& device, uint64_t bytes) {
  if (bytes == 0) {
    return kSuccess;
  }
  if (const Result allowed = ChargeMps(bytes); allowed != kSuccess) {
    return allowed;
  }
  sim::MemoryReply reply{};
  const Result result = Ask(RequestFor(device, sim::kCharge, bytes), &reply, nullptr);
  if (result != kSuccess) {
    RefundMps(bytes);
  }
  return result;
}

void Refund(const VisibleDevice& device, uint64_t bytes) {
  sim::MemoryReply reply{};
  if (bytes != 0) {
    RefundMps(bytes);
    (void)Ask(RequestFor(device, sim::kRefund, bytes), &reply, nullptr);
  }
}

Result MakeShared(const VisibleDevice& device, uint64_t bytes, bool is_charged,
                  SharedMemory* shared) {
  sim::MemoryReply reply{};
  int fd = -1;
  const Result result = Ask(
      RequestFor(device, is_charged ? sim::kMoveToObject : sim::kMakeObject, bytes), &reply, &fd);
  *shared = {.object = reply.object,
             .key = reply.key,
             .bytes = bytes,
             .fd = fd,
             .slot = device.slot,
             .gpu_instance = device.gpu_instance};
  if (is_charged && result == kSuccess) {
    RefundMps(bytes);
  }
  return result;
}

Result Attach(uint64_t object, uint64_t key, SharedMemory* shared) {
  sim::MemoryRequest request = RequestFor({}, sim::kAttach, 0);
  request.object = object;
  request.key = key;
  // A process with a MIG device has no other.
  request.compute_instance = State().devices[0].compute_instance;
  sim::MemoryReply reply{};
  int fd = -1;
  const Result result = Ask(request, &reply, &fd);
  *shared = {.object = reply.object,
             .key = reply.key,
             .bytes = reply.bytes,
             .fd = fd,
             .slot = reply.slot,
             .gpu_instance = reply.gpu_instance};
  return result;
}

void Detach(const SharedMemory& shared) {
  if (shared.object == 0) {
    return;
  }
  sim::MemoryRequest request = RequestFor({}, sim::kDetach, 0);
  request.object = shared.object;
  sim::MemoryReply reply{};
  (void)Ask(request, &reply, nullptr);
  if (shared.fd >= 0) {
    close(shared.fd);
  }
}

bool FindObject(int fd, uint64_t* object, uint64_t* key) {
  constexpr char kName[] = "/memfd:kgpu-sim-memory-";
  char link[64];
  char path[96];
  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size <= 0) {
    return false;
  }
  path[size] = '\0';
  if (strncmp(path, kName, sizeof(kName) - 1) != 0) {
    return false;
  }
  char* end = nullptr;
  *object = strtoull(path + sizeof(kName) - 1, &end, 10);
  *key = *end == '-' ? strtoull(end + 1, nullptr, 10) : 0;
  return *object != 0;
}

}  // namespace kgpu::simcuda
