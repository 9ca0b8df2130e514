// Which CUDA process uses how much memory of which GPU. The truth of it for clients of the server:
// the state's lists of processes only show it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "testing/driver/protocol.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Bytes of the GPU, or of one of its GPU instances, that nobody uses.
struct MemorySpace {
  uint64_t total = 0;
  uint64_t free = 0;
};
// `gpu_instance` kUnsupported: the whole GPU.
MemorySpace SpaceOf(const SimGpu& gpu, uint32_t gpu_instance);

// Lives on the server's thread. Bounded by the clients, by kMaxProcesses of each GPU and by
// kMaxObjects.
class MemoryLedger {
 public:
  static constexpr size_t kMaxObjects = 256;

  struct Options {
    // An entry of a GPU's list of processes has changed.
    std::function<void(uint32_t slot, uint32_t index)> on_entry = [](uint32_t, uint32_t) {};
    // A process has begun or ended to use a GPU.
    std::function<void()> on_processes = [] {};
    // The path of the program that the process runs; empty: unknown.
    std::function<std::string(pid_t pid)> name_of = [](pid_t) { return std::string(); };
  };
  explicit MemoryLedger(Options options) : options_(std::move(options)) {}

  // Does what `request` of client `client` with process id `pid` says, and shows it in `state`.
  // Checking and charging is one step. `fd` becomes the memfd of the object in the reply, which the
  // ledger owns; -1: none.
  MemoryReply Apply(SimState& state, int client, pid_t pid, const MemoryRequest& request, int& fd);
  // The client is gone, and with it everything it had.
  void Drop(SimState& state, int client);
  // Brings the lists of processes of another state up to date: what a command changed, or what came
  // from a file.
  void Show(SimState& state);

  // Whether the client has anything.
  bool Has(int client) const;
  size_t object_count() const { return objects_.size(); }

 private:
  struct Place {
    uint32_t slot = 0;
    uint32_t incarnation = 0;
    uint32_t gpu_instance = kUnsupported;
    uint32_t compute_instance = kUnsupported;
    bool operator==(const Place&) const = default;
  };
  struct Use {
    int client = -1;
    pid_t pid = 0;
    Place place;
    uint64_t bytes = 0;  // without objects
  };
  // An object counts for its first holder.
  struct Holder {
    int client = -1;
    pid_t pid = 0;
    uint32_t compute_instance = kUnsupported;
  };
  struct Object {
    uint64_t id = 0;
    uint64_t key = 0;
    Place place;
    uint64_t bytes = 0;
    UniqueFd fd;
    std::vector<Holder> holders;
  };

  static Place PlaceOf(const MemoryRequest& request);
  static MemoryResult AskSpace(const SimState& state, const Place& place, MemoryReply& reply);
  MemoryResult Charge(SimState& state, const Use& wanted);
  MemoryResult Refund(SimState& state, const Use& returned);
  MemoryResult MakeObject(SimState& state, const Use& wanted, bool is_charged, MemoryReply& reply,
                          int& fd);
  MemoryResult Attach(SimState& state, const Use& user, const MemoryRequest& request,
                      MemoryReply& reply, int& fd);
  MemoryResult Detach(SimState& state, int client, uint64_t id);
  Use* FindUse(const Use& like);
  uint64_t BytesOf(pid_t pid, const Place& place) const;
  // The client's entry with this process and place, or the end of the list.
  static SimProcess* FindEntry(SimGpu& gpu, pid_t pid, const Place& place);
  // False: no place in the list.
  bool ShowEntry(SimState& state, pid_t pid, const Place& place);
  // Brings the entries of an object's holders up to date.
  void ShowHolders(SimState& state, const Place& place, const std::vector<Holder>& holders);

  Options options_;
  std::vector<Use> uses_;
  std::vector<Object> objects_;
  uint64_t last_object_ = 0;
};

}  // namespace kgpu::sim
