#include "src/host/inspect/driver_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/ldcache.h"
#include "src/host/inspect/library_folders.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kLdCache = "etc/ld.so.cache";
constexpr std::array<std::string_view, 2> kAnchors = {"libcuda.so.", "libnvidia-ml.so."};

// Without these no program with CUDA runs, or none that has to compile for its GPU. Sorted.
constexpr std::array<std::string_view, 3> kNeeded = {"libcuda", "libnvidia-ml",
                                                     "libnvidia-ptxjitcompiler"};

// Libraries that come with the driver and carry versions of their own.
constexpr std::array<std::string_view, 7> kOwnVersions = {
    "libnvidia-api.so.1",          "libnvidia-egl-gbm.so.1", "libnvidia-egl-wayland.so.1",
    "libnvidia-egl-wayland2.so.1", "libnvidia-egl-xcb.so.1", "libnvidia-egl-xlib.so.1",
    "libnvidia-nvvm70.so.4",
};

std::string_view FolderOf(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// "535.104.05" of "libcuda.so.535.104.05"; empty when the ending is no driver version.
std::string_view VersionOf(std::string_view name) {
  constexpr std::string_view kInfix = ".so.";
  const size_t at = name.find(kInfix);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view version = name.substr(at + kInfix.size());
  // libnvidia-egl-gbm.so.1.1.0 ends in a version too; NVIDIA's drivers begin at 1xx.
  return IsDriverVersion(version) && version.find('.') >= 3 ? version : std::string_view();
}

std::vector<unsigned> Numbers(std::string_view version) {
  std::vector<unsigned> numbers;
  for (const std::string_view group : Split(version, '.')) {
    numbers.push_back(static_cast<unsigned>(ParseUint(group).value_or(0)));
  }
  return numbers;
}

bool IsOlder(std::string_view a, std::string_view b) {
  return Numbers(a) < Numbers(b);
}

// One search of a driver root.
class Search {
 public:
  explicit Search(const sys::Root& driver) : driver_(driver) {
    ReadCache();
    FindFolders();
  }

  // Finds libcuda and libnvidia-ml by their SONAMEs, and by `exact_version` when given; where
  // nothing is found, lists the folders for any version.
  void FindAnchors(std::string_view exact_version) {
    for (const std::string_view anchor : kAnchors) {
      const std::string soname = fmt::format("{}1", anchor);
      for (const LdCacheEntry& entry : cache_) {
        if (entry.name == soname) {
          AddAnchor(entry.path);
        }
      }
      for (const std::string& folder : folders_) {
        AddAnchor(fmt::format("{}/{}", folder, soname));
        if (!exact_version.empty()) {
          AddAnchor(fmt::format("{}/{}{}", folder, anchor, exact_version));
        }
      }
    }
    if (anchors_.empty()) {
      ListForAnchors();
    }
  }

  // Oldest first, unique.
  std::vector<std::string> Versions() const {
    std::vector<std::string> versions;
    versions.reserve(anchors_.size());
    for (const Anchor& anchor : anchors_) {
      versions.push_back(anchor.version);
    }
    std::ranges::sort(versions, IsOlder);
    versions.erase(std::ranges::unique(versions).begin(), versions.end());
    return versions;
  }

  DriverFiles Collect(std::string version) {
    DriverFiles files;
    files.version = std::move(version);
    files.versions = Versions();
    const std::vector<std::string> folders = FoldersWith(files.version);
    for (const std::string& folder : folders) {
      CollectFolder(folder, files.version);
      CollectFolder(folder + "/vdpau", files.version);
    }
    CollectOwnVersions(folders);
    for (auto& [key, library] : libraries_) {
      if (library.name.starts_with(kAnchors[0]) || library.name.starts_with(kAnchors[1])) {
        files.machine = std::max(files.machine, library.machine, PrefersNative);
      }
      files.libraries.push_back(std::move(library));
    }
    files.problems = std::move(problems_);
    return files;
  }

  std::vector<std::string> Missing(std::string_view version) const {
    std::vector<std::string> missing;
    const std::vector<std::string> folders = FoldersWith(version);
    for (const std::string_view stem : kNeeded) {
      const std::string name = fmt::format("{}.so.{}", stem, version);
      const bool is_there = std::ranges::any_of(folders, [&](const std::string& folder) {
        const StatusOr<std::string> real = driver_.Resolve(fmt::format("{}/{}", folder, name));
        const auto elf = real.ok() ? ReadElf(driver_, *real) : StatusOr<ElfInfo>(real.status());
        // Libraries for 32-bit programs do not replace them.
        return elf.ok() && elf->machine != ElfMachine::kI386;
      });
      if (!is_there && !folders.empty()) {
        missing.push_back(name);
      }
    }
    return missing;
  }

  StatusOr<std::string> FindNvml() const {
    const std::string soname = fmt::format("{}1", kAnchors[1]);
    std::vector<std::string> candidates;
    for (const LdCacheEntry& entry : cache_) {
      if (entry.name == soname) {
        candidates.push_back(entry.path);
      }
    }
    for (const std::string& folder : folders_) {
      candidates.push_back(fmt::format("{}/{}", folder, soname));
    }
    std::string refused;
    for (const std::string& candidate : candidates) {
      StatusOr<std::string> path = driver_.Resolve(candidate);
      if (!path.ok()) {
        continue;
      }
      const StatusOr<ElfInfo> elf = ReadElf(driver_, *path);
      if (elf.ok() && elf->machine == NativeMachine()) {
        return path;
      }
      refused += elf.ok() ? fmt::format("; {} is for {}", driver_.At(*path), ToString(elf->machine))
                          : fmt::format("; {}", Message(elf.status()));
    }
    return NotFound(
        "{} for {} is neither in {} nor in a library folder below {}{}: install the driver's "
        "user-space files or set their path with --driver-root",
        soname, ToString(NativeMachine()), driver_.At(kLdCache), driver_.path(), refused);
  }

 private:
  struct Anchor {
    std::string path;  // real file
    std::string version;
  };

  // Chooses the machine that represents the whole driver: never 32 bit if there is 64 bit.
  static bool PrefersNative(ElfMachine a, ElfMachine b) {
    const auto rank = [](ElfMachine machine) {
      switch (machine) {
        case ElfMachine::kUnknown:
          return 0;
        case ElfMachine::kI386:
          return 1;
        default:
          return 2;
      }
    };
    return rank(a) < rank(b);
  }

  void ReadCache() {
    const StatusOr<std::string> bytes = driver_.ReadFile(kLdCache, kLdCacheLimit);
    if (!bytes.ok()) {
      if (bytes.status().code() != StatusCode::kNotFound) {
        problems_.emplace_back(Message(bytes.status()));
      }
      return;
    }
    StatusOr<std::vector<LdCacheEntry>> entries = ParseLdCache(*bytes);
    if (!entries.ok()) {
      problems_.push_back(fmt::format("{}: {}", driver_.At(kLdCache), Message(entries.status())));
      return;
    }
    std::erase_if(*entries, [](const LdCacheEntry& entry) { return !MayBeOfDriver(entry.name); });
    cache_ = *std::move(entries);
  }

  // The candidates that exist, each once: /lib is often a link to /usr/lib.
  void FindFolders() {
    for (const std::string& candidate : CandidateLibraryFolders()) {
      StatusOr<std::string> real = driver_.Resolve(candidate);
      if (real.ok() && std::ranges::find(folders_, *real) == folders_.end()) {
        folders_.push_back(*std::move(real));
      }
    }
  }

  // About 50 of some 800 entries of a cache are the driver's.
  static bool MayBeOfDriver(std::string_view name) {
    return name.find("nvidia") != std::string_view::npos || name.starts_with("libcuda") ||
           name.starts_with("libnv");
  }

  void AddAnchor(const std::string& path) {
    StatusOr<std::string> real = driver_.Resolve(path);
    if (!real.ok()) {
      return;
    }
    const std::string version(VersionOf(NameOf(*real)));
    const bool is_known = std::ranges::find(anchors_, *real, &Anchor::path) != anchors_.end();
    if (!version.empty() && !is_known) {
      anchors_.push_back({*std::move(real), version});
    }
  }

  void ListForAnchors() {
    for (const std::string& folder : folders_) {
      const StatusOr<std::vector<std::string>> names = driver_.ListDir(folder);
      if (!names.ok()) {
        if (names.status().code() != StatusCode::kNotFound) {
          problems_.emplace_back(Message(names.status()));
        }
        continue;
      }
      for (const std::string& name : *names) {
        if (name.starts_with(kAnchors[0]) || name.starts_with(kAnchors[1])) {
          AddAnchor(fmt::format("{}/{}", folder, name));
        }
      }
    }
  }

  // Real folders that hold files of `version`: those of the anchors, then of the cache.
  std::vector<std::string> FoldersWith(std::string_view version) const {
    std::vector<std::string> folders;
    const auto add = [&folders](std::string_view folder) {
      if (std::ranges::find(folders, folder) == folders.end()) {
        folders.emplace_back(folder);
      }
    };
    for (const Anchor& anchor : anchors_) {
      if (anchor.version == version) {
        add(FolderOf(anchor.path));
      }
    }
    // Each entry by itself: Debian's library folder has links to nvidia/current next to libraries
    // of the driver, so one entry of a folder says nothing about the others.
    for (const LdCacheEntry& entry : cache_) {
      const StatusOr<std::string> real = driver_.Resolve(entry.path);
      if (real.ok() && VersionOf(NameOf(*real)) == version) {
        add(FolderOf(*real));
      }
    }
    return folders;
  }

  void CollectFolder(const std::string& folder, std::string_view version) {
    const StatusOr<std::vector<std::string>> names = driver_.ListDir(folder);
    if (!names.ok()) {
      return;
    }
    for (const std::string& name : *names) {
      if (name.ends_with(version) && VersionOf(name) == version) {
        AddLibrary(fmt::format("{}/{}", folder, name), name, version);
      }
    }
  }

  void CollectOwnVersions(const std::vector<std::string>& folders) {
    for (const std::string_view soname : kOwnVersions) {
      for (const LdCacheEntry& entry : cache_) {
        if (entry.name == soname) {
          AddByLink(entry.path);
        }
      }
      for (const std::string& folder : folders) {
        AddByLink(fmt::format("{}/{}", folder, soname));
      }
    }
  }

  void AddByLink(const std::string& path) {
    const StatusOr<std::string> real = driver_.Resolve(path);
    if (real.ok()) {
      AddLibrary(*real, NameOf(*real), {});
    }
  }

  void AddLibrary(const std::string& path, std::string_view name, std::string_view version) {
    StatusOr<std::string> real = driver_.Resolve(path);
    if (!real.ok()) {
      problems_.emplace_back(Message(real.status()));
      return;
    }
    StatusOr<ElfInfo> elf = ReadElf(driver_, *real);
    if (!elf.ok()) {
      problems_.emplace_back(Message(elf.status()));
      return;
    }
    libraries_.emplace(std::pair(elf->machine, std::string(name)),
                       DriverLibrary{.name = std::string(name),
                                     .path = *std::move(real),
                                     .soname = std::move(elf->soname),
                                     .version = std::string(version),
                                     .machine = elf->machine});
  }

  const sys::Root& driver_;
  std::vector<LdCacheEntry> cache_;   // of the driver only
  std::vector<std::string> folders_;  // real paths
  std::vector<Anchor> anchors_;
  std::map<std::pair<ElfMachine, std::string>, DriverLibrary> libraries_;
  std::vector<std::string> problems_;
};

}  // namespace

StatusOr<DriverFiles> FindDriverFiles(const sys::Root& driver, std::string_view preferred_version) {
  Search search(driver);
  search.FindAnchors(preferred_version);
  const std::vector<std::string> versions = search.Versions();
  if (versions.empty()) {
    return NotFound(
        "no libcuda.so.<version> and no libnvidia-ml.so.<version> below {}, neither in "
        "etc/ld.so.cache nor in the library folders of Debian, Ubuntu, RHEL, SUSE, GKE and NixOS: "
        "install the driver's user-space files or set their path with --driver-root",
        driver.path());
  }
  const bool has_preferred = std::ranges::find(versions, preferred_version) != versions.end();
  return search.Collect(has_preferred ? std::string(preferred_version) : versions.back());
}

std::vector<std::string> FindDriverVersions(const sys::Root& driver) {
  Search search(driver);
  search.FindAnchors({});
  return search.Versions();
}

std::vector<std::string> MissingLibraries(const sys::Root& driver, std::string_view version) {
  Search search(driver);
  search.FindAnchors(version);
  return search.Missing(version);
}

StatusOr<std::string> FindNvmlLibrary(const sys::Root& driver) {
  return Search(driver).FindNvml();
}

}  // namespace kgpu::host
