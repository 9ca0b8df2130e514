// Shared by the editors of engine configurations.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {

// The first lines of a file that is entirely ours.
inline constexpr std::string_view kOurComment =
    "# Written by `kgpu runtime configure`; undo with `kgpu runtime revert`.\n";

inline constexpr std::string_view kRuncShim = "io.containerd.runc.v2";

// Errors: InvalidArgument (a name or path that no engine would accept, a default without a
// runtime).
Status CheckSettings(const Settings& settings);

TextEdit Finish(const edit::Document& document, std::vector<std::string> notes);

edit::Key operator/(edit::Key key, std::string_view name);

boost::json::value TextValue(std::string_view text);

// `items`, followed by the elements of `more` that are not in it.
std::vector<std::string> Union(std::vector<std::string> items,
                               const std::vector<std::string>& more);

// A note if `ours` replaces a default runtime that was chosen for isolation: kata, runsc, sysbox.
// `before` may be null.
void NoteDefault(const boost::json::value* before, std::string_view key, std::string_view ours,
                 std::vector<std::string>& notes);

// Whether the file `path` is in the folder of `drop_in`, and is read after it.
bool IsLaterDropIn(std::string_view path, std::string_view drop_in);

// Whether containerd's plugin of this name is the one that a kubelet uses, or one that it needs.
bool IsCriPlugin(std::string_view plugin);

// Whether a template of k3s or RKE2 takes in their own tables, as one that is empty or absent does.
bool HasK3sBase(std::string_view text);

// Whether the value equals Go's zero value, which is the same as leaving the key out.
bool IsZero(const boost::json::value& value);

}  // namespace kgpu::engine
