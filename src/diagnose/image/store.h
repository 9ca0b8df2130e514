// Images in the stores of this host's engines, through their own programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/archive.h"
#include "src/diagnose/image/facts.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::image {

enum class StoreKind : uint8_t { kDocker, kPodman, kContainerd, kCri };

// "docker", "podman", "containerd", "cri". Errors: InvalidArgument naming the four.
StatusOr<StoreKind> ParseStoreKind(std::string_view text);

struct StoreOptions {
  std::vector<StoreKind> kinds{};  // engines to ask, in this order; empty: all
  PickOptions pick{};
  // Where docker or podman may temporarily save an image whose layers cannot be read otherwise;
  // empty: nowhere. Below the host's root.
  std::string save_folder{};
  // "NAME=value": what the programs need to know about their user (HOME, DOCKER_HOST, …).
  std::vector<std::string> environment{};
};

// The image `name` from the first engine of `host` that has it. Errors: NotFound (no engine has it:
// the text has each engine's answer, and the command that pulls it), InvalidArgument (not an image
// name).
StatusOr<ImageFacts> FindImage(const sys::Root& host, sys::ProgramRunner& runner,
                               const std::string& name, const StoreOptions& options);

// The variables of `environment` that engines' programs read. For a host other than this one
// (`is_own` false) without those that name an engine's address, which is one of this host.
std::vector<std::string> EngineEnvironment(const std::vector<std::string>& environment,
                                           bool is_own = true);

}  // namespace kgpu::image
