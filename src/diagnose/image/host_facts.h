// The host of a question: as it was seen, or as somebody describes one.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/image/verdict.h"
#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::image {

// A host in words; all but the driver may be empty.
struct HostWords {
  std::string driver;        // "535.104.05"
  std::string compute;       // "8.0"
  std::string model;         // "A100-SXM4-80GB"
  std::string architecture;  // "amd64"
};

// Errors: InvalidArgument (no version; a model that is not known and no compute capability).
StatusOr<HostFacts> FactsOfWords(const HostWords& words);

// Errors: FailedPrecondition (it does not say which driver it has).
StatusOr<HostFacts> FactsOfSnapshot(const device::Snapshot& snapshot,
                                    std::string_view architecture);

// "amd64" of "x86_64", as images name machines; itself where they name it alike.
std::string ImageArchitecture(std::string_view machine);

}  // namespace kgpu::image
