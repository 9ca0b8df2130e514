#include "testing/driver/libnvidia_ml/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/driver/libnvidia_ml/location.h"
#include "testing/driver/libnvidia_ml/seqlock.h"

namespace kgpu::sim {
namespace {

using nvml::Return;

// A C library's state between calls can only be global.
struct Library {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  uint32_t inits = 0;
  Session* session = nullptr;
};
constinit Library library;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above

class Lock {
 public:
  Lock() { pthread_mutex_lock(&library.mutex); }
  ~Lock() { pthread_mutex_unlock(&library.mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

void Destroy(Session* session) {
  if (session->socket >= 0) {
    close(session->socket);
  }
  if (session->control >= 0) {
    close(session->control);
  }
  Unmap(session->shared);
  free(session);
}

// With the lock held.
void Release(Session* session) {
  if (--session->users == 0) {
    Destroy(session);
  }
}

uint64_t PciKey(const SimPci& pci) {
  return (uint64_t{pci.domain} << 32) | (uint64_t{pci.bus} << 16) | (pci.device << 8) |
         pci.function;
}

// The slots of all GPUs by PCI address.
uint32_t SortedSlots(const SimState& state, size_t size, uint32_t* slots) {
  uint64_t keys[kMaxGpus];
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < state.gpu_count && slot < kMaxGpus; ++slot) {
    size_t end = offsetof(SimState, gpus) + (slot + size_t{1}) * sizeof(SimGpu);
    if (end > size || state.gpus[slot].is_present == 0 || state.gpus[slot].is_unlisted != 0) {
      continue;
    }
    uint64_t key = PciKey(state.gpus[slot].pci);
    uint32_t place = count++;
    for (; place > 0 && keys[place - 1] > key; --place) {
      keys[place] = keys[place - 1];
      slots[place] = slots[place - 1];
    }
    keys[place] = key;
    slots[place] = slot;
  }
  return count;
}

struct Found {
  char driver_version[32];
  char library_version[32];
  uint32_t count;
  uint32_t slots[kMaxGpus];
  uint32_t incarnations[kMaxGpus];
  uint32_t minors[kMaxGpus];
};

Return ReadFound(const Session& session, Found& found) {
  return ReadState(*session.shared.state, [&](const SimState& state) {
    if (state.driver.is_loaded == 0) {
      return nvml::kErrorDriverNotLoaded;
    }
    (void)snprintf(found.driver_version, sizeof(found.driver_version), "%.31s",
                   state.driver.version);
    (void)snprintf(found.library_version, sizeof(found.library_version), "%.31s",
                   state.driver.library_version);
    found.count = SortedSlots(state, session.shared.size, found.slots);
    for (uint32_t i = 0; i < found.count; ++i) {
      found.incarnations[i] = state.gpus[found.slots[i]].incarnation;
      found.minors[i] = state.gpus[found.slots[i]].minor;
    }
    return nvml::kSuccess;
  });
}

Return CheckVersion(Session& session, const Found& found) {
  OwnVersion(session.version);
  if (session.version[0] == '\0') {
    memcpy(session.version, found.library_version, sizeof(session.version));
  }
  if (session.version[0] == '\0') {
    memcpy(session.version, found.driver_version, sizeof(session.version));
  }
  return strcmp(session.version, found.driver_version) == 0 ? nvml::kSuccess
                                                            : nvml::kErrorLibRmVersionMismatch;
}

void FindVisible(Session& session, const Found& found) {
  for (uint32_t i = 0; i < found.count; ++i) {
    char node[32];
    (void)snprintf(node, sizeof(node), "dev/nvidia%u", found.minors[i]);
    Node probed = ProbeNode(session.root, node, O_RDWR);
    if (probed != Node::kMissing) {
      session.gpus[session.gpu_count++] = {.slot = found.slots[i],
                                           .incarnation = found.incarnations[i],
                                           .is_permitted = probed == Node::kOpens};
    }
  }
}

Return Fill(Session& session) {
  if (!FindRoot(session.root)) {
    return nvml::kErrorDriverNotLoaded;
  }
  session.socket = Connect(session.root, &session.shared);
  if (session.socket < 0) {
    return nvml::kErrorDriverNotLoaded;
  }
  Found found{};
  if (Return result = ReadFound(session, found); result != nvml::kSuccess) {
    return result;
  }
  switch (ProbeNode(session.root, "dev/nvidiactl", O_RDWR, &session.control)) {
    case Node::kMissing:
      return nvml::kErrorDriverNotLoaded;
    case Node::kForbidden:
      return nvml::kErrorNoPermission;
    case Node::kOpens:
      break;
  }
  if (Return result = CheckVersion(session, found); result != nvml::kSuccess) {
    return result;
  }
  FindVisible(session, found);
  return nvml::kSuccess;
}

}  // namespace

Return OpenSession() {
  Lock lock;
  if (library.inits > 0) {
    ++library.inits;
    return nvml::kSuccess;
  }
  auto* session = static_cast<Session*>(calloc(1, sizeof(Session)));
  if (session == nullptr) {
    return nvml::kErrorMemory;
  }
  session->socket = -1;
  session->control = -1;
  session->users = 1;
  if (Return result = Fill(*session); result != nvml::kSuccess) {
    Destroy(session);
    return result;
  }
  library.session = session;
  library.inits = 1;
  return nvml::kSuccess;
}

Return CloseSession() {
  Lock lock;
  if (library.inits == 0) {
    return nvml::kErrorUninitialized;
  }
  if (--library.inits == 0) {
    Release(library.session);
    library.session = nullptr;
  }
  return nvml::kSuccess;
}

void AbandonSession() {
  library.mutex = PTHREAD_MUTEX_INITIALIZER;
  if (library.session != nullptr) {
    close(library.session->socket);
    close(library.session->control);
  }
  library.session = nullptr;
  library.inits = 0;
}

SessionRef::SessionRef() : session_(nullptr) {
  Lock lock;
  session_ = library.session;
  if (session_ != nullptr) {
    ++session_->users;
  }
}

SessionRef::~SessionRef() {
  if (session_ != nullptr) {
    Lock lock;
    Release(session_);
  }
}

}  // namespace kgpu::sim
