// State between nvmlInit and nvmlShutdown: the simulated host's location, the connection to its
// state server, and the GPUs that this process saw when it initialised.
#pragma once

#include <climits>
#include <cstdint>

#include "testing/driver/libnvidia_ml/connection.h"
#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// A GPU as nvmlInit found it. The list does not change until the next nvmlInit.
struct VisibleGpu {
  uint32_t slot;
  uint32_t incarnation;
  bool is_permitted;  // /dev/nvidia<N> could be opened
};

struct Session {
  char root[PATH_MAX];  // of the simulated host, without a slash at its end; "" is "/"
  char version[32];     // of this library: from its file's name, else of the host's libraries
  int socket;
  int control;  // of /dev/nvidiactl, or -1: present without hardware
  SharedState shared;
  uint32_t gpu_count;
  VisibleGpu gpus[kMaxGpus];  // by PCI address: element i is NVML's index i
  uint32_t users;             // calls under way, and one for nvmlInit
};

// nvmlInit and nvmlShutdown; counted. Thread: any.
nvml::Return OpenSession();
nvml::Return CloseSession();

// In a child after fork(2): what its parent had open is not the child's. Only for pthread_atfork(3)
// handlers: nobody else may be in this library.
void AbandonSession();

// Holds the current session for one call, even during a concurrent nvmlShutdown.
class SessionRef {
 public:
  SessionRef();
  ~SessionRef();
  SessionRef(const SessionRef&) = delete;
  SessionRef& operator=(const SessionRef&) = delete;

  explicit operator bool() const { return session_ != nullptr; }
  const Session& operator*() const { return *session_; }
  const Session* operator->() const { return session_; }

 private:
  Session* session_;
};

// This library's version from its file name: "535.261.03", or "" for a bare SONAME. `version` must
// hold 32 bytes.
void OwnVersion(char* version);

// Whether `relative` below the session's root can be opened with `flags`. ENXIO counts as success:
// the node exists and only the hardware is missing.
enum class Node { kOpens, kMissing, kForbidden };
Node ProbeNode(const char* root, const char* relative, int flags, int* fd = nullptr);

}  // namespace kgpu::sim
