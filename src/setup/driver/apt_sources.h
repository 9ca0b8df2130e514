// Where apt gets its packages from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver {

// One repository: an URI, a suite and its components.
struct AptSource {
  std::string file;  // that names it
  std::string uri;
  std::string suite;
  std::vector<std::string> components;
  std::string signed_by;  // a path or fingerprint; empty: any key that apt trusts
  bool operator==(const AptSource&) const = default;
};

// The "deb" lines of a .list file. Lines that are none, or broken, are left out. Source:
// sources.list(5), "ONE-LINE-STYLE FORMAT".
std::vector<AptSource> ParseAptList(std::string_view text, std::string_view file);
// The paragraphs of a .sources file whose types have "deb" and that are enabled; one entry for each
// URI and suite. Source: sources.list(5), "DEB822-STYLE FORMAT".
std::vector<AptSource> ParseAptParagraphs(std::string_view text, std::string_view file);

// Of /etc/apt/sources.list and the files of sources.list.d. What cannot be read is left out.
std::vector<AptSource> ReadAptSources(const sys::Root& host);

}  // namespace kgpu::driver
