// Converts configurations of other device plugins: the result that every converter returns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/node_config.h"

namespace kgpu::config {

// The format of a configuration.
enum class Dialect { kNodeConfig, kNvidia, kGke };

// What happened to a key.
enum class Fate {
  kTranslated,     // NodeConfig expresses the same
  kNoMeaning,      // kgpu does not need it
  kNotTranslated,  // lost in the conversion
  kUnknown,        // the other plugin ignores it too, probably against the author's intention
};

struct Note {
  Fate fate = Fate::kTranslated;
  std::string text;  // "file:line:column: key: converted: share.replicas: 4"
  bool operator==(const Note&) const = default;
};

struct Converted {
  NodeConfig config;
  std::vector<Note> notes;  // in file order
  bool operator==(const Converted&) const = default;
};

// "converted", "not needed", "not converted", "unknown key".
std::string_view ToString(Fate fate);

// Decides by the top-level keys. Errors: InvalidArgument (no map, or no known key).
StatusOr<Dialect> DetectDialect(std::string_view text, std::string_view file);

}  // namespace kgpu::config
