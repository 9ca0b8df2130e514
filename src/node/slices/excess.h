// Which containers use more device memory than their slices allow, by the driver's own numbers:
// what the library inside a container misses, or a program avoids, is seen here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/share.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/clock.h"

namespace kgpu::slices {

// What one container has and uses of one device.
struct SliceUse {
  pods::Container user{};
  std::string device_uuid{};          // of the GPU or MIG device
  Bytes limit{};                      // of all its slices of the device together
  Bytes used{};                       // by all its processes, contexts included
  std::vector<uint32_t> processes{};  // by PID of the host, ascending
  Bytes context{};                    // that each context counts, as configured; 0: not counted
  sharing::OnExcess on_excess = sharing::OnExcess::kEvent;
  std::vector<std::string> slots{};  // of the device
  unsigned compute = 0;              // percent of its time, all slots together; 0: no share
  // Percent of its time that the processes have used; nothing: the driver does not say of all.
  std::optional<double> time{0.0};
};

struct SliceFacts {
  const pools::Assignment& assignment;
  // Slots of devices that change once nobody uses them: containers may still do.
  const pools::Assignment& held;
  const device::Snapshot& snapshot;
  const device::SampleSet& samples;
  const pods::PodMap& pods;
};

// Containers with slices, by container and device. A process whose memory the driver does not
// report counts nothing.
std::vector<SliceUse> SliceUsesOf(const SliceFacts& facts);

// The driver counts memory that no program has asked for, such as its code. A use is in excess when
// it is above the limit by more than a 32nd, at least 128 MiB, and a context for each process, all
// contexts together at most an eighth: a container chooses how many processes it has.
bool IsExcess(const SliceUse& use);

// Uses in excess, with the number of rounds that this has gone on, 1 for the first.
struct Excess {
  SliceUse use;
  unsigned rounds = 1;
  bool is_new_round = true;  // false: seen in this round before
  SteadyTime since{};        // of the first
};

// Remembers who was in excess. Lives on the owner's thread; forgets whoever is not any more.
class ExcessMonitor {
 public:
  // Call it whenever there are samples. A round is as long as `every`, however often shares of the
  // device's time make the agent look.
  std::vector<Excess> Update(std::vector<SliceUse> uses, SteadyTime now,
                             std::chrono::milliseconds every);

 private:
  // Namespace, pod and its UID, container, device.
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Rounds {
    unsigned count = 0;
    SteadyTime since{};
    SteadyTime counted{};  // the last round's time
  };
  std::map<Key, Rounds> rounds_;
};

}  // namespace kgpu::slices
