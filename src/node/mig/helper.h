// Requests to the helper process that changes MIG layouts, for programs that must not wait for the
// driver, and its replies. Each message is one line of JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::mig {

// The argument that makes the program kgpu such a helper: it reads one request from standard input,
// and replies on standard output.
inline constexpr std::string_view kHelperCommand = "__mig";

// The layout of whole GPUs: exactly one of `instances` and `named` is set.
struct LayoutChoice {
  std::string instances{};     // of each GPU: "3g.40gb,2g.20gb"; "none" for an empty GPU
  std::string named{};         // the name of a configuration
  std::string configs_file{};  // where names are looked up; empty: the built-in ones
  bool operator==(const LayoutChoice&) const = default;
};

// Paths as the helper sees them; empty: the defaults of `kgpu mig`.
struct HelperHost {
  std::string host_root{};
  std::string driver_root{};
  std::string engine_root{};
  std::string nvml_library{};
  std::string probe{};
  std::string kubelet_dir{};
  bool operator==(const HelperHost&) const = default;
};

// An instance at its place.
struct ClaimPlace {
  std::string profile{};                   // "1g.10gb"
  unsigned start = 0;                      // first memory slice
  std::optional<unsigned> gpu_instance{};  // that is removed: another one at the place stays
  bool operator==(const ClaimPlace&) const = default;
};

// A MIG device that was made for a claim.
struct MadeDevice {
  std::string uuid{};
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  bool operator==(const MadeDevice&) const = default;
};

enum class Step : uint8_t {
  kPlan,    // changes nothing
  kChange,  // the GPUs that nobody uses
  // Of one GPU, whatever its other instances are:
  kMake,    // the instance of `place`
  kRemove,  // the same
  kEmpty,   // turns MIG off, if there are no instances
  // How long a program has the GPU before the next one: `time_slice`.
  kTimeSlice,
};

struct HelperRequest {
  Step step = Step::kPlan;
  LayoutChoice layout{};              // of kPlan and kChange
  std::optional<ClaimPlace> place{};  // of kMake and kRemove
  unsigned time_slice = 0;            // 0: the driver\'s, 1: short, 2: medium, 3: long
  std::vector<std::string> gpus{};    // UUIDs
  HelperHost host{};
  bool operator==(const HelperRequest&) const = default;
};

enum class Outcome : uint8_t {
  kDone,        // of a plan: all GPUs have the layout, or can be changed now
  kWaits,       // some GPUs are in use
  kInfeasible,  // the GPUs cannot have the layout
  kBusy,        // nothing was changed: the driver or the lock is not available now
  kFailed,      // nothing was changed; the same request will fail again
  kUndone,      // a change began and failed: it is being undone, or the undoing has ended
};

struct HelperReply {
  struct Change {
    std::string gpu{};          // UUID
    bool changes_mode = false;  // MIG is turned on or off, which may reset the GPU
    bool operator==(const Change&) const = default;
  };
  struct Waiting {
    std::string gpu{};  // UUID
    std::string reason{};
    bool operator==(const Waiting&) const = default;
  };
  Outcome outcome = Outcome::kFailed;
  std::string reason{};  // of all outcomes but kDone
  // Of kDone and kWaits, for each GPU: planned changes, or those that were made.
  std::vector<Change> changes{};
  std::vector<Waiting> waiting{};
  std::optional<MadeDevice> made{};  // of kMake, once done
  bool operator==(const HelperReply&) const = default;
};

std::string PrintRequest(const HelperRequest& request);
std::string PrintReply(const HelperReply& reply);

// Errors: InvalidArgument naming the field.
StatusOr<HelperRequest> ParseRequest(std::string_view text);
// The last complete line counts: a helper that undoes a change replies before and after it.
StatusOr<HelperReply> ParseReply(std::string_view text);

// kBusy or kFailed.
HelperReply ReplyOf(const Status& error);

}  // namespace kgpu::mig
