// CDI specifications as text: the JSON and YAML files of CDI folders.
#pragma once

#include <string>
#include <string_view>

#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cdi {

// A file with more bytes is refused; the largest seen in the field have some 100 kB.
inline constexpr size_t kSpecLimit = size_t{4} << 20;

// Strict, as engines are: unknown fields, fields of another type and duplicate keys are errors
// that name `file` and the field ("x.yaml: devices[0].containerEdits.mounts[1].hostPath: …").
// A leading "v" of cdiVersion is dropped. Says nothing about validity: see Validate.
// Errors: InvalidArgument.
StatusOr<Spec> ParseSpec(std::string_view text, doc::Format format, std::string_view file);

// What ParseSpec reads back as the same spec, except the contents of intelRdt, which are not kept.
std::string PrintSpec(const Spec& spec, doc::Format format);

}  // namespace kgpu::cdi
