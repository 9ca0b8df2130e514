// Who asks for GPUs in a container's spec, and whose word is taken.
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

// By precedence, as NVIDIA's runtime has it: annotations before mounts before the environment.
enum class Source : uint8_t {
  kAnnotations,  // cdi.k8s.io/…
  kMounts,       // /dev/null mounted below /var/run/nvidia-container-devices
  kDockerGpus,   // the environment, with the hook entry that Docker's --gpus makes
  kEnvironment,  // the environment alone
};
std::string_view NameOf(Source source);

// What a spec says, before anybody decides. Views live as long as the spec is not edited.
struct Asks {
  std::vector<std::string_view> annotations;    // values of cdi.k8s.io/…
  std::vector<oci::MountView> mounts;           // below the folder of requests
  std::optional<std::string_view> environment;  // NVIDIA_VISIBLE_DEVICES when it asks for something
  bool has_hook = false;                        // Docker's --gpus
};

// False when the text of a spec cannot ask for anything: such a container is none of our business,
// and its spec is not even parsed.
bool MayAsk(std::string_view spec_text);

// Errors: InvalidArgument: a field of the spec has another type than the specification says.
StatusOr<Asks> FindAsks(const oci::Spec& spec);

struct Refusal {
  Source source = Source::kEnvironment;
  std::string asked;
  std::string reason;  // with the fix
};

struct Decision {
  std::optional<Source> granted;  // the source whose word is taken
  std::vector<Refusal> refusals;  // sources before it whose word is not
};
Decision Decide(const Asks& asks, const Config& config);
// The words of one source, for people.
std::string AskedBy(const Asks& asks, Source source);

// What is granted, as values.
struct Request {
  DeviceList devices;
  std::vector<std::string> imex_channels;
  std::vector<std::string> classes;  // "gds", "mofed", "gdrcopy"
  std::vector<std::string> notes;    // for the audit: what was passed over, and why
};

// Reads the asks of one source; `env` is the spec's. What the environment asks for beside GPUs
// counts only where the environment itself is trusted: docker --gpus vouches for the GPUs alone.
// Errors: InvalidArgument naming what is asked and the rule that is broken.
StatusOr<Request> ReadRequest(const Asks& asks, Source source,
                              const std::vector<std::string_view>& env, const Config& config);

// NVIDIA_DRIVER_CAPABILITIES, or `fallback` where it is unset or empty. Errors: InvalidArgument
// listing the known words.
StatusOr<inject::CapabilitySet> WantedCapabilities(const std::vector<std::string_view>& env,
                                                   inject::CapabilitySet fallback);

// For Spec::RemoveMounts and RemoveHooks.
bool IsRequestMount(const oci::MountView& mount);
bool IsGpuHook(std::string_view path);

}  // namespace kgpu::shim
