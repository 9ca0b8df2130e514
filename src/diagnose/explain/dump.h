// The objects read from a cluster, as one file: `kgpu explain dump`, or the output of `kubectl get
// … -o json`.
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
  std::string claim{};  // in place of the pod, if the dump is about a claim
  std::string taken{};  // when it was made
  // Objects with their kind. Data from a file is reduced to what is judged.
  std::vector<boost::json::value> items{};
  // Kinds that were read completely, as far as they matter.
  std::set<std::string, std::less<>> listed{};
  std::vector<std::string> unreadable{};
  std::vector<HeldDevice> held{};

  bool Has(std::string_view kind) const { return listed.contains(kind); }
};

// Reads our dump, any list of objects, or one object; JSON or YAML. In other files, a kind counts
// as listed if there is one object of it. Errors: InvalidArgument naming `file` and the problem.
StatusOr<Dump> ReadDump(std::string_view text, std::string_view file);

boost::json::value DumpJson(Dump dump);

// Whether a variable of a container's environment is judged, and therefore kept: a fixed list of
// names, since NVIDIA_API_KEY and the like are secrets.
bool IsJudgedVariable(std::string_view name);

// Removes what is not judged from an object: of a pod, all environment variables except
// IsJudgedVariable, volumes, commands, annotations, managed fields. Sets `kind` if a list left it
// out. False: such an object is never used, e.g. a Secret, and is not kept.
bool Slim(boost::json::value& object, std::string_view kind);
// The same for a pod that only matters for what it holds: keeps less.
void SlimHolder(boost::json::value& pod);

}  // namespace kgpu::explain
