// The claims that are prepared on this node, as they survive a restart: what each has, and what was
// made for it. Written before each step that it describes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/dra/parameters.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::dra {

// A MIG device that was made for a claim. What exists on the GPU is compared with all of it: a name
// alone may stand for an instance that somebody else has made since.
struct MadeInstance {
  std::string gpu{};  // UUID
  std::string profile{};
  unsigned start = 0;                      // first memory slice
  std::optional<unsigned> gpu_instance{};  // nothing: it was not made yet
  std::optional<unsigned> compute_instance{};
  bool operator==(const MadeInstance&) const = default;
};

// How the programs of a claim share its device by MPS.
struct MpsLimits {
  unsigned threads = 100;  // percent of the device's, for each program
  Bytes memory{};          // for each program; 0: not limited
  bool operator==(const MpsLimits&) const = default;
};

struct PreparedDevice {
  std::string request{};
  std::string pool{};
  std::string device{};
  std::string share_id{};
  std::string device_uuid{};           // of the GPU or MIG device
  std::vector<std::string> slots{};    // ids, of a shared device
  std::vector<std::string> cdi_ids{};  // the kubelet's answer
  std::optional<MadeInstance> made{};
  std::optional<MpsLimits> mps{};
  TimeSlice time_slice = TimeSlice::kDefault;  // of a GPU: the claim's own
  bool is_admin = false;
  bool operator==(const PreparedDevice&) const = default;
};

struct PreparedClaim {
  std::string space{};
  std::string name{};
  // The kubelet has, or may have, the answer. Before that: something of it may exist.
  bool is_complete = false;
  std::vector<PreparedDevice> devices{};
  bool operator==(const PreparedClaim&) const = default;
};

struct Checkpoint {
  std::string boot_id{};                          // MIG devices and containers end with the boot
  std::map<std::string, PreparedClaim> claims{};  // by UID
  // An earlier record was damaged, or another driver's: claims that are not here may still have
  // devices.
  bool has_lost = false;
  bool operator==(const Checkpoint&) const = default;
};

// One JSON object: its version, the lowest version of a program that can read it, a checksum, and
// the state.
std::string PrintCheckpoint(const Checkpoint& checkpoint);
// Fields of later versions are left out. Errors: InvalidArgument (damaged: what is wrong with it),
// FailedPrecondition (only a later program can read it).
StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);

}  // namespace kgpu::dra
