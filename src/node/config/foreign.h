// Configurations of other device plugins as ours: what every converter gives back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/node_config.h"

namespace kgpu::config {

// Whose configuration a text is.
enum class Dialect { kNodeConfig, kNvidia, kGke };

// What became of a key.
enum class Fate {
  kTranslated,     // NodeConfig says the same
  kNoMeaning,      // kgpu has no need of it
  kNotTranslated,  // what it asks for is lost
  kUnknown,        // its owner ignores it, most likely against the author's request
};

struct Note {
  Fate fate = Fate::kTranslated;
  std::string text;  // "file:line:column: key: converted: share.replicas: 4"
  bool operator==(const Note&) const = default;
};

struct Converted {
  NodeConfig config;
  std::vector<Note> notes;  // in the order of the file
  bool operator==(const Converted&) const = default;
};

// "converted", "not needed", "not converted", "unknown key".
std::string_view ToString(Fate fate);

// By the keys at the top. Errors: InvalidArgument (no map, or none of the keys of any).
StatusOr<Dialect> DetectDialect(std::string_view text, std::string_view file);

}  // namespace kgpu::config
