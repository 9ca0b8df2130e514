// The host that an image is checked against: as observed, or as a user describes it.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/image/verdict.h"
#include "src/gpu/device/snapshot.h"
#include "src/platform/base/status.h"

namespace kgpu::image {

// A host described by a user; everything except the driver may be empty.
struct HostWords {
  std::string driver;        // "535.104.05"
  std::string compute;       // "8.0"
  std::string model;         // "A100-SXM4-80GB"
  std::string architecture;  // "amd64"
};

// Errors: InvalidArgument (no version; an unknown model without a compute capability).
StatusOr<HostFacts> FactsOfWords(const HostWords& words);

// Errors: FailedPrecondition (the snapshot has no driver version).
StatusOr<HostFacts> FactsOfSnapshot(const device::Snapshot& snapshot,
                                    std::string_view architecture);

// "amd64" for "x86_64", as images name machines; unchanged if the names are the same.
std::string ImageArchitecture(std::string_view machine);

}  // namespace kgpu::image
