// Which containers use more device memory than their slices allow, by the driver's own numbers:
// what the library inside a container misses, or a program avoids, is seen here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/share.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/bytes.h"

namespace kgpu::share {

// What one container has and uses of one device.
struct SliceUse {
  pods::Container user{};
  std::string device_uuid{};          // of the GPU or MIG device
  Bytes limit{};                      // of all its slices of the device together
  Bytes used{};                       // by all its processes, contexts included
  std::vector<uint32_t> processes{};  // by PID of the host, ascending
  config::OnExcess on_excess = config::OnExcess::kEvent;
};

struct SliceFacts {
  const pools::Assignment& assignment;
  const device::Snapshot& snapshot;
  const device::SampleSet& samples;
  const pods::PodMap& pods;
};

// Containers with slices, by container and device. A process whose memory the driver does not
// report counts nothing.
std::vector<SliceUse> SliceUsesOf(const SliceFacts& facts);

// The driver counts some memory that no program has asked for: a use is in excess when it is more
// than a 32nd, and more than 128 MiB, above the limit.
bool IsExcess(const SliceUse& use);

// Uses in excess, with the number of rounds that this has gone on, 1 for the first.
struct Excess {
  SliceUse use;
  unsigned rounds = 1;
};

// Remembers who was in excess. Lives on the owner's thread; forgets whoever is not any more.
class ExcessMonitor {
 public:
  // Call it once per round of samples.
  std::vector<Excess> Update(std::vector<SliceUse> uses);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, unsigned> rounds_;
};

}  // namespace kgpu::share
