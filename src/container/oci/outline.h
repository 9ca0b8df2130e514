// The parts of a specification that edits and readers look at, as a text of their own. Private to
// this module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kgpu::oci {

// `text` without the fields that nobody here asks for (args, capabilities, seccomp, …), which are
// most of what engines write: building a tree of them would cost more than all edits. Nothing when
// the text is no JSON object, or has keys written with escapes where ours could be among them;
// whether the parts that are left out are JSON is for the runtime to find.
std::optional<std::string> Outline(std::string_view text);

}  // namespace kgpu::oci
