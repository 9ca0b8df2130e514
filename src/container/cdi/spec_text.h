// CDI specifications as text: the JSON and YAML files in CDI folders.
#pragma once

#include <string>
#include <string_view>

#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cdi {

// Size limit of a file; the largest ones known have about 100 kB.
inline constexpr size_t kSpecLimit = size_t{4} << 20;

// Strict, like engines: unknown fields, fields of the wrong type and duplicate keys are errors
// that name `file` and the field ("x.yaml: devices[0].containerEdits.mounts[1].hostPath: …").
// Drops a leading "v" of cdiVersion. Does not check validity: see Validate. Errors:
// InvalidArgument.
StatusOr<Spec> ParseSpec(std::string_view text, doc::Format format, std::string_view file);

// ParseSpec reads it back as the same spec, except the content of intelRdt, which is not stored.
std::string PrintSpec(const Spec& spec, doc::Format format);

}  // namespace kgpu::cdi
