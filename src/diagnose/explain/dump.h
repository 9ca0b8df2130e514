// What was read of a cluster, as one file: `kgpu explain dump`, and what `kubectl get … -o json`
// prints.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/facts.h"
#include "src/platform/base/status.h"

namespace kgpu::explain {

inline constexpr size_t kMaxJsonDump = size_t{512} << 20;
// YAML takes far more time and memory for the same text.
inline constexpr size_t kMaxYamlDump = size_t{16} << 20;

struct Dump {
  std::string pod{};    // "team-a/train"; empty: unknown, as in a list of kubectl's
  std::string taken{};  // when
  // Objects with their kind. Of a file all that is not judged is taken away.
  std::vector<boost::json::value> items{};
  // Kinds of which all that matters was read.
  std::set<std::string, std::less<>> listed{};
  std::vector<std::string> unreadable{};
  std::vector<HeldDevice> held{};

  bool Has(std::string_view kind) const { return listed.contains(kind); }
};

// A dump of ours, or any list of objects, or one object; JSON or YAML. Of other files a kind counts
// as listed when one of it is there. Errors: InvalidArgument naming `file` and what is wrong.
StatusOr<Dump> ReadDump(std::string_view text, std::string_view file);

boost::json::value DumpJson(Dump dump);

// Whether a variable of a container's environment is judged, and so is kept: a list of names, for
// NVIDIA_API_KEY and its like are secrets.
bool IsJudgedVariable(std::string_view name);

// Takes out of an object whatever is not judged: of a pod's environment all but IsJudgedVariable,
// volumes, commands, annotations, managed fields. `kind` is set where a list left it out.
// False: nobody would look at such an object, and it is not kept; a Secret, say.
bool Slim(boost::json::value& object, std::string_view kind);
// The same of a pod that only matters for what it has: less is kept.
void SlimHolder(boost::json::value& pod);

}  // namespace kgpu::explain
