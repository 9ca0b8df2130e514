// One archive with what support asks for: what kgpu finds on a host, and the files that decide it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/compress/tar.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::collect {

// A program whose output is collected.
struct Command {
  std::string name{};               // of the file in the archive: "status.json"
  std::vector<std::string> argv{};  // argv[0]: "kgpu", or a path of the host
};

// All that is collected.
struct Sources {
  std::vector<Command> commands{};
  std::vector<std::string> files{};    // below the host's root; missing ones are no error
  std::vector<std::string> folders{};  // whose files are collected, not those of folders in them
};
Sources UsualSources();

// Size limits, before compression: the end of an output counts, and the beginning of a file.
inline constexpr size_t kMostOfOne = size_t{1} << 20;
inline constexpr size_t kMostOfAll = size_t{32} << 20;

struct Bundle {
  std::vector<compress::TarFile> files{};  // with secrets removed
  // By file, then kind.
  std::map<std::string, std::map<std::string, size_t>> removed{};
  std::vector<std::string> problems{};  // what could not be collected, and why
};

struct CollectDeps {
  const sys::Root& host;
  sys::ProgramRunner& runner;
  std::string program;               // this one
  std::vector<std::string> flags{};  // that it needs to find the host
  std::vector<std::string> environment{};
  std::function<void(std::string_view name)> begin{};  // of each entry, for people
};

// Never fails: what cannot be collected is a problem. A program that hangs ends at its deadline.
Bundle Collect(const Sources& sources, const CollectDeps& deps);

// A .tar.gz: the files, README.txt, removed.txt and problems.txt. Errors: those of compress::Tar.
StatusOr<std::string> PackBundle(const Bundle& bundle, const std::string& host, WallTime now);

}  // namespace kgpu::collect
