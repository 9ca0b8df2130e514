// Which parts of a container's spec request GPUs, and which are trusted.
// docs/how-it-works/runtime-shim.md, "Who may ask".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/inject/capability.h"
#include "src/container/oci/spec.h"
#include "src/container/shim/config.h"
#include "src/container/shim/visible_devices.h"
#include "src/platform/base/status.h"

namespace kgpu::shim {

// By precedence, as in NVIDIA's runtime: annotations before mounts before the environment.
enum class Source : uint8_t {
  kAnnotations,  // cdi.k8s.io/…
  kMounts,       // /dev/null mounted below /var/run/nvidia-container-devices
  kDockerGpus,   // the environment, with the hook entry that Docker's --gpus makes
  kEnvironment,  // only the environment
};
std::string_view NameOf(Source source);

// The requests in a spec, before any decision. Views are valid while the spec is not edited.
struct Asks {
  std::vector<std::string_view> annotations;    // values of cdi.k8s.io/…
  std::vector<oci::MountView> mounts;           // below the request folder
  std::optional<std::string_view> environment;  // NVIDIA_VISIBLE_DEVICES, if it requests anything
  bool has_hook = false;                        // Docker's --gpus
};

// False if the text of a spec cannot request anything: we leave such a container alone, without
// even parsing its spec.
bool MayAsk(std::string_view spec_text);

// Errors: InvalidArgument: a field of the spec has another type than the specification requires.
StatusOr<Asks> FindAsks(const oci::Spec& spec);

struct Refusal {
  Source source = Source::kEnvironment;
  std::string asked;
  std::string reason;  // with the fix
};

struct Decision {
  std::optional<Source> granted;  // the source that is trusted
  std::vector<Refusal> refusals;  // earlier sources that are not trusted
};
Decision Decide(const Asks& asks, const Config& config);
// The words of one source, for people.
std::string AskedBy(const Asks& asks, Source source);

// A granted request, as values.
struct Request {
  DeviceList devices;
  std::vector<std::string> imex_channels;
  std::vector<std::string> classes;  // "gds", "mofed", "gdrcopy"
  std::vector<std::string> notes;    // for the audit: what was ignored, and why
};

// Reads the requests of one source; `env` is the spec's. Requests in the environment for anything
// besides GPUs only count if the environment itself is trusted: docker --gpus only vouches for
// GPUs. Errors: InvalidArgument naming the request and the violated rule.
StatusOr<Request> ReadRequest(const Asks& asks, Source source,
                              const std::vector<std::string_view>& env, const Config& config);

// NVIDIA_DRIVER_CAPABILITIES, or `fallback` if it is unset or empty. Errors: InvalidArgument
// listing the known words.
StatusOr<inject::CapabilitySet> WantedCapabilities(const std::vector<std::string_view>& env,
                                                   inject::CapabilitySet fallback);

// For Spec::RemoveMounts and RemoveHooks.
bool IsRequestMount(const oci::MountView& mount);
bool IsGpuHook(std::string_view path);

}  // namespace kgpu::shim
