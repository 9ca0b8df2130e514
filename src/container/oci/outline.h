// Extracts the parts of a specification that edits and readers use, as a separate text. Private to
// this module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::oci {

// `text` without the fields that nothing here uses (args, capabilities, seccomp, …), which are most
// of what engines write: parsing them into a tree would cost more than all edits. Nothing if the
// text is no JSON object, or may have our keys written with escapes; whether the parts left out are
// valid JSON is checked by the runtime.
std::optional<std::string> Outline(std::string_view text);

}  // namespace kgpu::oci
